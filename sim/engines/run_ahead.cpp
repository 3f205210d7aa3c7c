#include "sim/engines/run_ahead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/engines/transfers.hpp"
#include "sim/plan/transfer_readers.hpp"

namespace penstock {
namespace {

constexpr Time unknown{-1};

class RunAhead {
 public:
  RunAhead(const Plan& plan, const Costs& costs, const Conditions& conditions, Timeline& timeline);
  std::optional<Standstill> run();

 private:
  /// The progress of a rank.
  struct Row {
    const TaskId* next;
    const TaskId* end;
    Time free{};
    Time issued{};
    TaskId waits_for = no_task;
  };

  void advance(std::uint32_t rank);
  bool place(Row& row, TaskId task);
  void hand_over(TaskId task);
  void send(TaskId transfer, Time ready);
  void known(TaskId transfer);
  void wake(Rank rank, TaskId transfer);
  void happen(Event event);
  Time last_end(TaskId task, TaskId& last) const;
  Standstill standstill() const;

  const Plan& plan_;
  const Costs& costs_;
  Timeline& timeline_;
  ResourceOrders orders_;
  TransferReaders readers_;
  FarReaders far_readers_;
  std::vector<bool> private_;
  std::vector<Row> rows_;
  std::vector<Time> link_free_;  // of private links
  EventQueue events_;
  Transfers transfers_;
  std::vector<std::uint32_t> runnable_;
  Time now_{};
};

RunAhead::RunAhead(const Plan& plan, const Costs& costs, const Conditions& conditions,
                   Timeline& timeline)
    : plan_(plan),
      costs_(costs),
      timeline_(timeline),
      orders_(resource_orders(plan)),
      readers_(plan),
      far_readers_(plan),
      private_(private_links(plan, conditions.network)),
      link_free_(plan.links.size()),
      transfers_(plan, costs, conditions, timeline, events_, Transfers::Ends::known_late) {
  const bool all_private = std::find(private_.begin(), private_.end(), false) == private_.end();
  if (!all_private) timeline.slowed.assign(plan.tasks(), Time{});
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    rows_.push_back({.next = orders_.tasks.data() + orders_.first[rank],
                     .end = orders_.tasks.data() + orders_.first[rank + 1]});
  }
}

std::optional<Standstill> RunAhead::run() {
  for (std::uint32_t rank = plan_.ranks; rank-- > 0;) runnable_.push_back(rank);
  for (;;) {
    while (!runnable_.empty()) {
      const std::uint32_t rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
    if (events_.empty()) break;
    now_ = events_.next_time();
    // All that happens at one moment is known before anything is decided.
    while (const auto event = events_.pop_at(now_)) happen(*event);
    transfers_.settle(now_);
  }
  for (const TaskId task : plan_.followers) timeline_.begin[task] = timeline_.begin[task - 1];
  const bool done =
      std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.next == row.end; });
  if (done) return std::nullopt;
  return standstill();
}

/// Runs the actions of a rank until one waits for a transfer with an unknown end.
void RunAhead::advance(std::uint32_t rank) {
  Row& row = rows_[rank];
  while (row.next != row.end && place(row, *row.next)) hand_over(*row.next++);
}

bool RunAhead::place(Row& row, TaskId task) {
  TaskId last = plan_.input[task];
  Time start = row.free;
  if (last != no_task) {
    const Time there = last_end(task, last);
    if (there == unknown) {
      row.waits_for = last;
      return false;
    }
    start = std::max(start, there);
  }
  if (!plan_.class_of(task).follows_partner) {
    row.issued += costs_.issue;
    start = std::max(start, row.issued + costs_.launch);
  }
  timeline_.begin[task] = start;
  row.free = start + costs_.duration_of(plan_, task);
  timeline_.end[task] = row.free + costs_.latency_of(plan_, task);
  timeline_.last_input[task] = last;
  return true;
}

/// When the last input of a task arrives, and which it is, ties to the first; `unknown` and the
/// first unknown one otherwise.
Time RunAhead::last_end(TaskId task, TaskId& last) const {
  if ((last & Plan::several) == 0) return timeline_.end[last];
  Time latest = unknown;
  bool all_known = true;
  plan_.for_each_input(task, [&](TaskId input) {
    const Time end = timeline_.end[input];
    if (!all_known) return;
    all_known = end != unknown;
    if (!all_known || end > latest) last = input;
    latest = all_known ? std::max(latest, end) : unknown;
  });
  return latest;
}

/// Starts the transfers for which a task was the last input.
void RunAhead::hand_over(TaskId task) {
  for (const TaskId transfer : readers_.of(task)) {
    TaskId last = plan_.input[transfer];
    const Time ready = last_end(transfer, last);
    if (ready == unknown) continue;
    timeline_.last_input[transfer] = last;
    send(transfer, ready);
  }
}

void RunAhead::send(TaskId transfer, Time ready) {
  const std::uint32_t link = plan_.class_of(transfer).resource - plan_.ranks;
  if (!private_[link]) {
    events_.push({ready, EventKind::ready, transfer});
    return;
  }
  const Time begin = std::max(link_free_[link], ready);
  link_free_[link] = begin + costs_.duration_of(plan_, transfer);
  timeline_.begin[transfer] = begin;
  timeline_.end[transfer] = link_free_[link] + costs_.latency_of(plan_, transfer);
  known(transfer);
}

/// The end of a transfer is known: its readers can continue.
void RunAhead::known(TaskId transfer) {
  const Link& link = plan_.link(plan_.class_of(transfer).resource);
  wake(link.to, transfer);
  wake(link.from, transfer);
  far_readers_.for_each_of(transfer, [&](std::uint32_t rank) { wake(Rank{rank}, transfer); });
  hand_over(transfer);
}

void RunAhead::wake(Rank rank, TaskId transfer) {
  if (index(rank) >= plan_.ranks || rows_[index(rank)].waits_for != transfer) return;
  rows_[index(rank)].waits_for = no_task;
  runnable_.push_back(index(rank));
}

void RunAhead::happen(Event event) {
  if (event.kind() == EventKind::ready) return transfers_.ready(event.id());
  known(transfers_.leave(event));
}

Standstill RunAhead::standstill() const {
  std::vector<Stuck> stuck;
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    const Row& row = rows_[rank];
    if (row.next == row.end) continue;
    stuck.push_back({rank, *row.next, task_text(plan_, row.waits_for)});
  }
  return deadlock_at(now_, plan_, stuck);
}

}  // namespace

bool may_run_ahead(const Conditions& conditions) {
  return !conditions.stall_above_bytes && conditions.compute_slowdown == 1 &&
         conditions.transfer_slowdown == 1 && !conditions.blocking_sends &&
         !conditions.rendezvous && !conditions.limits_in_flight();
}

RunOutcome run_ahead(const PricedPlan& priced, Timeline reused) {
  prepare(priced.plan, reused);
  auto halt = RunAhead(priced.plan, priced.costs, priced.conditions, reused).run();
  if (halt) return *std::move(halt);
  return reused;
}

}  // namespace penstock
