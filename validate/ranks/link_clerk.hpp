#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/transfers.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/recorder.hpp"

namespace penstock {

/// Says when transfers arrive whose links several ranks share, in logical time. Ranks tell it what
/// they send and what they wait for; nothing of the plan's order is known here. A moment is decided
/// once no rank can send anything up to it: each running rank is behind its own clock, and one that
/// waits is behind the transfers it waits for. So the result is the same for any speed of the
/// threads.
///
/// Ranks call from their own threads; those that do not run here count as running for ever.
class LinkClerk {
 public:
  /// The plan must outlive it.
  explicit LinkClerk(const PricedPlan& priced);

  /// Before each run: no rank has sent anything.
  void begin();
  /// A rank sends a transfer that is ready then, and not before `behind`, another one, has arrived.
  void send(TaskId transfer, Time ready, TaskId behind);
  /// Waits until it is known when all these have arrived, and returns the latest, or `now`, when
  /// the rank became free. Nothing when the run is halted.
  std::optional<Time> await(std::uint32_t rank, std::span<const Reading> readings, Time now);
  /// A rank has finished and sends no more.
  void finish(std::uint32_t rank);
  /// Ends all waiting.
  void halt();

  /// The transfer that each rank waits for; empty unless all wait forever.
  const std::vector<std::optional<TaskId>>& deadlock() const { return deadlock_; }
  /// When a transfer of a finished run was under way.
  Span span(TaskId transfer) const { return {timeline_.begin[transfer], timeline_.end[transfer]}; }

 private:
  static constexpr Time unknown{-1};
  enum class State : std::uint8_t { runs, waits, finished };
  struct Row {
    State state = State::runs;
    Time behind{};  // it sends nothing that is ready earlier
    std::span<const Reading> readings;
    std::condition_variable wake;
  };
  struct Held {
    TaskId transfer;
    Time ready;
  };

  TaskId first_unknown(std::span<const Reading> readings) const;
  void resume(Row& row);
  void decide_what_can();
  void decide_next_moment();
  Time earliest_send() const;
  void queue(TaskId transfer, Time ready);
  void known(TaskId transfer);
  void halt_if_stuck();
  void wake_all();

  const PricedPlan& priced_;
  std::vector<bool> private_;  // by link

  std::mutex mutex_;  // guards all below
  std::vector<Row> rows_;
  Timeline timeline_;            // begins and ends of transfers
  std::vector<Time> link_free_;  // of private links
  std::map<TaskId, Held> held_;  // by the transfer that must have arrived before
  EventQueue events_;
  std::optional<Transfers> transfers_;
  std::vector<std::optional<TaskId>> deadlock_;
  bool halted_ = false;
};

}  // namespace penstock
