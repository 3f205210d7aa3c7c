#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/dispatcher.hpp"
#include "sim/engines/event_queue.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/engines/transfers.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/transfer_readers.hpp"
#include "sim/timeline/memory_events.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

class Workers;

/// Memory allocated or reserved on ranks with a capacity. A task reserves at its start what it
/// allocates at its end beyond what it then frees, so its end never exceeds the capacity.
class MemoryRoom {
 public:
  MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity);

  /// Whether these tasks, started together, leave every rank within its capacity.
  bool fits(std::span<const TaskId> tasks) const;
  /// Whether a rank has room for a task and `more` bytes once all ends that has started.
  bool fits_later(TaskId task, Rank rank, std::int64_t more) const;
  void start(TaskId task);
  void end(TaskId task);

  /// What a task allocates on a rank at its start, less what it frees there.
  std::int64_t change_at_start(TaskId task, Rank rank) const;
  std::int64_t held(Rank rank) const { return held_[index(rank)]; }
  std::int64_t capacity() const { return capacity_; }
  /// The ranks whose memory a task changes.
  template <class Visitor>
  void for_each_rank(TaskId task, Visitor&& visit) const {
    for (const Change& change : changes_[plan_.work[task]]) visit(change.rank);
  }

 private:
  /// The change of one rank's memory by a class.
  struct Change {
    Rank rank;
    std::int64_t at_start = 0;
    std::int64_t at_end = 0;
  };
  static std::vector<Change> changes_of(std::span<const RankEffect> effects, std::uint32_t ranks);
  void reserve_for_end(const WorkClass& work, std::vector<Change>& changes) const;

  const Plan& plan_;
  std::int64_t capacity_;
  std::vector<std::vector<Change>> changes_;  // by work class
  std::vector<std::int64_t> held_;            // by rank
  std::vector<std::int64_t> ending_;          // by rank: changes to come at the ends of what runs
};

/// Who takes part in a stepwise run, each where there is one.
struct Participants {
  Dispatcher* dispatcher = nullptr;
  std::vector<TaskId>* ran = nullptr;
  Workers* workers = nullptr;
};

/// One run of the stepwise engine, the implementation of `run_stepwise`: events and cells
/// (stepwise), transfers and deadlocks (stepwise_transfers).
class Stepwise {
 public:
  Stepwise(const Plan& plan, const Costs& costs, const Conditions& conditions, Timeline& timeline,
           const Participants& participants);
  std::optional<Standstill> run();

 private:
  static constexpr Time unknown{-1};
  static constexpr Time never = max_time;

  /// The progress of a rank and its running cell.
  struct Row {
    std::span<TaskId> rest;  // what it has not finished, the running cell included
    Time issued{};           // of the action that is next
    bool runs = false;
    bool dirty = false;
    std::uint32_t in_flight = 0;  // transfers that it sends or receives
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t unsent = 0;    // blocking sends: those that have not left yet
    TaskId waits_for = no_task;  // the first input that its next cell lacks
    TaskId sent_last = no_task;
    Time sent_at{};
    Time free_at{};             // end of its last cell
    Time lacks_memory = never;  // when its next cell began to wait for memory only

    // The running cell: its length, and the remaining time at full speed as of `since`.
    Time length{};
    double left = 0;
    Time since{};
    double speed = 1;
  };

  // What happens.
  void happen(Event event);
  void end_cell(std::uint32_t rank);
  void leave(TaskId transfer);
  void arrive(TaskId transfer);
  void hand_over(TaskId task);

  // Consequences at the same moment.
  bool settle();
  void settle_transfers() {
    transfers_.settle(now_, [this](TaskId transfer) { return start_if_may(transfer); });
  }
  void try_start(std::uint32_t rank);
  void start_cell(std::uint32_t rank, std::span<const TaskId> cell);
  void set_length(std::uint32_t rank, Time length);
  bool ask_workers();
  bool is_there(TaskId task) const { return end_[task] != unknown && end_[task] <= now_; }
  TaskId first_missing(TaskId task) const;
  bool choose(std::uint32_t rank);
  bool is_launched(std::uint32_t rank);
  bool has_memory(Row& row, std::span<const TaskId> cell);
  TaskId last_input(const Row& row, TaskId task) const;
  void slow_links();
  void set_speed(std::uint32_t rank);
  void set_end(std::uint32_t rank, Time end);

  // Transfers.
  bool may_start(TaskId transfer);
  Rank taker_of(TaskId transfer) const;
  bool fits_beside_next(TaskId transfer) const;
  std::optional<std::int64_t> need_of_next(Rank rank, TaskId transfer) const;
  bool is_awaited(TaskId transfer) const;
  bool start_if_may(TaskId transfer);

  std::span<const TaskId> first_cell(std::span<const TaskId> rest) const;
  void look_at(std::uint32_t rank);
  void look_at_reader(std::uint32_t rank, TaskId transfer);
  /// Marks a rank whose running cell or sends have changed.
  void touch(std::uint32_t rank) {
    if (slows_) touched_.push_back(rank);
  }
  void look_at_links(std::uint32_t rank);
  void freed(TaskId task);
  template <class Visitor>
  void for_each_end(TaskId transfer, Visitor visit);
  Standstill standstill() const;
  std::string needs_of(const Row& row) const;
  std::string behind_text(TaskId transfer) const;

  const Plan& plan_;
  const Costs& costs_;
  const Conditions& conditions_;
  bool slows_;         // actions and transfers slow each other down
  bool looks_always_;  // what a rank can do depends on more than its inputs and sends
  Timeline& timeline_;
  Dispatcher* dispatcher_;
  std::vector<TaskId>* ran_;
  Workers* workers_;
  std::vector<Time>& end_;
  ResourceOrders orders_;
  std::vector<std::uint32_t> place_of_;  // with a dispatcher: index of a task in the orders
  TransferReaders readers_;
  FarReaders far_readers_;
  std::optional<MemoryRoom> room_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::uint32_t>> links_of_;  // by rank
  EventQueue events_;
  Transfers transfers_;
  std::vector<std::uint32_t> dirty_;      // ranks that may be able to start something
  std::vector<std::uint32_t> looked_at_;  // ranks being checked
  std::vector<std::uint32_t> started_;    // with workers: ranks whose lengths are not known yet
  std::vector<std::uint32_t> touched_;    // ranks whose running cell or sends have changed
  Time now_{};
};

/// Calls `visit(rank, sends)` for both ends of a transfer that are ranks.
template <class Visitor>
void Stepwise::for_each_end(TaskId transfer, Visitor visit) {
  const Link& link = plan_.link(plan_.class_of(transfer).resource);
  if (index(link.from) < plan_.ranks) visit(index(link.from), true);
  if (index(link.to) < plan_.ranks) visit(index(link.to), false);
}

}  // namespace penstock
