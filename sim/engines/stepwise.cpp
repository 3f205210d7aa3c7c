#include "sim/engines/stepwise.hpp"

#include <algorithm>
#include <utility>

#include "sim/engines/stepwise_run.hpp"

namespace penstock {

Stepwise::Stepwise(const Plan& plan, const Costs& costs, const Conditions& conditions,
                   Timeline& timeline, Dispatcher* dispatcher, std::vector<TaskId>* ran)
    : plan_(plan),
      costs_(costs),
      conditions_(conditions),
      slows_(conditions.compute_slowdown != 1 || conditions.transfer_slowdown != 1),
      timeline_(timeline),
      dispatcher_(dispatcher),
      ran_(ran),
      end_(timeline.end),
      orders_(resource_orders(plan)),
      readers_(plan),
      far_readers_(plan),
      rows_(plan.ranks),
      links_of_(plan.ranks),
      transfers_(plan, costs, conditions, timeline, events_, Transfers::Ends::known_early),
      gate_([this](TaskId transfer) { return start_if_may(transfer); }) {
  timeline.slowed.assign(plan.tasks(), Time{});
  if (conditions.stall_above_bytes) timeline.memory_wait.assign(plan.tasks(), Time{});
  if (dispatcher != nullptr) {
    place_of_.resize(plan.tasks());
    for (std::uint32_t at = 0; at < plan.tasks(); ++at) place_of_[orders_.tasks[at]] = at;
  }
  if (conditions.stall_above_bytes) room_.emplace(plan, costs, *conditions.stall_above_bytes);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    rows_[rank].rest = {orders_.tasks.data() + orders_.first[rank],
                        orders_.tasks.data() + orders_.first[rank + 1]};
    rows_[rank].issued = costs.issue;
  }
  for (std::uint32_t link = 0; link < plan.links.size(); ++link) {
    for (const Rank end : {plan.links[link].from, plan.links[link].to}) {
      if (index(end) < plan.ranks) links_of_[index(end)].push_back(link);
    }
  }
}

std::optional<Standstill> Stepwise::run() {
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    // Memory for the whole run may already exceed the capacity.
    if (room_ && room_->held(Rank{rank}) > room_->capacity()) return standstill();
    look_at(rank);
  }
  settle();
  while (!events_.empty()) {
    now_ = events_.next_time();
    while (const auto event = events_.pop_at(now_)) happen(*event);
    if (dispatcher_ != nullptr) {
      // All arrivals at this moment precede the choice of a policy.
      transfers_.settle(now_, gate_);
      if (!events_.empty() && events_.next_time() == now_) continue;
    }
    settle();
  }
  const bool done = std::all_of(end_.begin(), end_.end(), [](Time end) { return end != unknown; });
  if (done) return std::nullopt;
  return standstill();
}

void Stepwise::happen(Event event) {
  switch (event.kind()) {
    case EventKind::leaves:
      if (const TaskId left = transfers_.leave(event); left != no_task) leave(left);
      return;
    case EventKind::arrives:
      return arrive(event.id());
    case EventKind::ends:
      return end_cell(event.id());
    case EventKind::ready:
      return;
    case EventKind::wakes:
      return look_at(event.id());
  }
}

void Stepwise::end_cell(std::uint32_t rank) {
  Row& row = rows_[rank];
  const std::span<const TaskId> cell = first_cell(row.rest);
  row.runs = false;
  row.free_at = now_;
  row.rest = row.rest.subspan(cell.size());
  row.issued += costs_.issue;
  if (slows_) {
    timeline_.slowed[cell.front()] =
        now_ - timeline_.begin[cell.front()] - costs_.duration_of(plan_, cell.front());
  }
  for (const TaskId task : cell) {
    end_[task] = now_;
    if (room_) room_->end(task);
    freed(task);
  }
  for (const TaskId task : cell) hand_over(task);
  look_at(rank);
  touch(rank);
}

/// The last byte of a transfer has left; it arrives a latency later.
void Stepwise::leave(TaskId transfer) {
  if (end_[transfer] > now_) {
    events_.push({end_[transfer], EventKind::arrives, transfer});
  } else {
    arrive(transfer);
  }
  const Pass pass = plan_.class_of(transfer).pass;
  const Rank from = plan_.link(plan_.class_of(transfer).resource).from;
  if (!conditions_.blocking_sends || !passes_on(pass)) return;
  Row& row = rows_[index(from)];
  row.sent_last = transfer;
  row.sent_at = now_;
  if (--row.unsent == 0) look_at(index(from));
}

void Stepwise::arrive(TaskId transfer) {
  if (room_) room_->end(transfer);
  for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
    Row& row = rows_[rank];
    --row.in_flight;
    // If there was a free slot, none of its other transfers waited for one.
    const bool full = (sends ? row.sends : row.receives)-- == conditions_.most_in_flight(sends);
    look_at(rank);
    touch(rank);
    if (full) look_at_links(rank);
  });
  far_readers_.for_each_of(transfer, [&](std::uint32_t rank) { look_at(rank); });
  freed(transfer);
  hand_over(transfer);
}

/// Queues the transfers for which a task was the last input.
void Stepwise::hand_over(TaskId task) {
  if (dispatcher_ != nullptr) dispatcher_->ended(task, now_);
  for (const TaskId transfer : readers_.of(task)) {
    if (!inputs_are_there(transfer)) continue;
    timeline_.last_input[transfer] = task;
    transfers_.ready(transfer);
    if (conditions_.blocking_sends && passes_on(plan_.class_of(transfer).pass)) {
      ++rows_[plan_.class_of(task).resource].unsent;
    }
  }
}

void Stepwise::settle() {
  do {
    looked_at_.clear();
    std::swap(looked_at_, dirty_);
    std::sort(looked_at_.begin(), looked_at_.end());
    for (const std::uint32_t rank : looked_at_) {
      rows_[rank].dirty = false;
      try_start(rank);
    }
    slow_links();
    transfers_.settle(now_, gate_);
  } while (!dirty_.empty());
  if (conditions_.compute_slowdown != 1) {
    for (const std::uint32_t rank : touched_) set_speed(rank);
  }
  touched_.clear();
}

/// A rank that runs looks for what is next when its cell ends.
void Stepwise::look_at(std::uint32_t rank) {
  if (rows_[rank].runs || std::exchange(rows_[rank].dirty, true)) return;
  dirty_.push_back(rank);
}

void Stepwise::look_at_links(std::uint32_t rank) {
  for (const std::uint32_t link : links_of_[rank]) transfers_.reconsider(link);
}

/// Memory may have become free: the rank's next cell goes first, then its receives.
void Stepwise::freed(TaskId task) {
  if (!room_) return;
  room_->for_each_rank(task, [&](Rank rank) {
    look_at(index(rank));
    look_at_links(index(rank));
  });
}

RunOutcome run_stepwise(const PricedPlan& priced, Timeline reused, Dispatcher* dispatcher,
                        std::vector<TaskId>* ran) {
  prepare(priced.plan, reused);
  auto halt = Stepwise(priced.plan, priced.costs, priced.conditions, reused, dispatcher, ran).run();
  if (halt) return *std::move(halt);
  return reused;
}

}  // namespace penstock
