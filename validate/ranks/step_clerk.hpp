#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/transfers.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/recorder.hpp"
#include "validate/ranks/memory_ledger.hpp"

namespace penstock {

/// Whether what a rank can do depends on what other ranks do at that moment: they wait for memory,
/// meet for a transfer, continue only after their sends have left, send or receive a few tensors at
/// a time, or slow each other down.
bool needs_steps(const Conditions& conditions);

/// Lets ranks start their steps in logical time under such conditions. Ranks tell it what a step
/// takes, reads and sends; nothing of the plan's order is known here. A moment is decided once
/// every rank has said how long its running step takes, since any of them could end before. So the
/// result is the same for any speed of the threads.
///
/// At each moment, first all that ends and arrives is booked; then ranks start what they can, lower
/// numbers first; then transfers do, first come first served. A step that waits for memory goes
/// before tensors for later steps of its rank.
class StepClerk {
 public:
  /// The plan must outlive it.
  explicit StepClerk(const PricedPlan& priced);

  /// Before each run: all ranks are about to say what they begin with.
  void begin();
  /// In the thread of a rank: its last step took this long, and it wants to run `step`, before
  /// `after`, which may be null. Waits for the start. Nothing when the run is halted.
  std::optional<Time> start(std::uint32_t rank, Time took, const Step& step, const Step* after);
  /// A rank has run all its steps, the last of them for so long.
  void finish(std::uint32_t rank, Time took);
  /// Ends all waiting.
  void halt();

  /// What each rank that waits forever waits for; empty unless all do.
  const std::string& deadlock() const { return deadlock_; }
  /// Of a finished run.
  Span span(TaskId task) const { return {timeline_.begin[task], timeline_.end[task]}; }
  const std::vector<Time>& slowed() const { return timeline_.slowed; }

 private:
  static constexpr Time unknown{-1};

  /// A rank: its running step, and what it does next.
  struct Row {
    bool computes = true;           // its thread has yet to say how long its step takes
    const Step* running = nullptr;  // in logical time
    const Step* next = nullptr;     // null after the last step, and while it computes
    const Step* after = nullptr;    // the step behind next
    bool early_sent = false;        // what next sends before it starts
    bool dirty = false;
    std::uint32_t ended = 0;  // steps
    // Of the running step: remaining time at full speed as of `since`.
    double left = 0;
    Time since{};
    double speed = 1;
    Time end{};
    // Transfers.
    std::uint32_t in_flight = 0;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t unsent = 0;  // blocking: those that have not left
    std::condition_variable wake;
  };

  void declare(std::uint32_t rank, Time took, const Step* next, const Step* after);
  void decide_what_can();
  Time next_moment() const;
  void book_moment();
  void end_step(std::uint32_t rank);
  void left(TaskId transfer);
  void arrived(TaskId transfer);
  void request(const std::vector<TensorSend>& sends);
  void request(TaskId transfer);
  void send_early();

  void settle();
  void try_start(std::uint32_t rank);
  void grant(std::uint32_t rank);
  bool all_there(const Step& step) const;
  bool is_there(TaskId task) const {
    return timeline_.end[task] != unknown && timeline_.end[task] <= now_;
  }
  Time launched(const Row& row) const;
  void look_at(std::uint32_t rank);
  void look_at_links(std::uint32_t rank);
  void memory_changed(TaskId task);
  void slow_links();
  void set_speed(std::uint32_t rank);

  bool may_travel(TaskId transfer) const;
  bool is_awaited(TaskId transfer) const;
  bool has_room_for(TaskId transfer) const;
  bool depart(TaskId transfer);

  std::string lack_of(std::uint32_t rank) const;
  void halt_stuck();
  void wake_all();

  const PricedPlan& priced_;
  const Conditions& conditions_;
  bool slows_;
  std::vector<std::vector<std::uint32_t>> links_of_;      // by rank
  std::map<TaskId, std::vector<std::uint32_t>> readers_;  // ranks that read a transfer

  std::mutex mutex_;  // guards all below
  std::vector<Row> rows_;
  Timeline timeline_;
  std::map<TaskId, TaskId> held_;  // returns, by the eviction that must have arrived before
  std::optional<MemoryLedger> memory_;
  EventQueue events_;
  std::optional<Transfers> transfers_;
  std::vector<std::uint32_t> touched_;  // ranks whose step or transfers have changed
  Time now_{};
  bool started_ = false;
  std::string deadlock_;
  bool halted_ = false;
};

}  // namespace penstock
