#include "validate/ranks/link_clerk.hpp"

#include <algorithm>

namespace penstock {

LinkClerk::LinkClerk(const PricedPlan& priced)
    : priced_(priced),
      private_(private_links(priced.plan, priced.conditions.network)),
      rows_(priced.plan.ranks) {}

void LinkClerk::begin() {
  for (Row& row : rows_) {
    row.state = State::runs;
    row.behind = {};
  }
  prepare(priced_.plan, timeline_);
  timeline_.slowed.assign(priced_.plan.tasks(), Time{});
  link_free_.assign(priced_.plan.links.size(), Time{});
  held_.clear();
  events_ = {};
  transfers_.emplace(priced_.plan, priced_.costs, priced_.conditions, timeline_, events_,
                     Transfers::Ends::known_late);
  deadlock_.clear();
  halted_ = false;
}

void LinkClerk::send(TaskId transfer, Time ready, TaskId behind) {
  const std::lock_guard lock(mutex_);
  if (behind != no_task && timeline_.end[behind] == unknown) {
    held_[behind] = {transfer, ready};
    return;
  }
  queue(transfer, behind == no_task ? ready : std::max(ready, timeline_.end[behind]));
}

std::optional<Time> LinkClerk::await(std::uint32_t rank, std::span<const Reading> readings,
                                     Time now) {
  std::unique_lock lock(mutex_);
  Row& row = rows_[rank];
  row.behind = now;
  row.readings = readings;
  row.state = State::waits;
  resume(row);
  decide_what_can();
  row.wake.wait(lock, [&] { return row.state == State::runs || halted_; });
  if (row.state != State::runs || halted_) return std::nullopt;
  return row.behind;
}

void LinkClerk::finish(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  rows_[rank].state = State::finished;
  decide_what_can();
}

void LinkClerk::halt() {
  const std::lock_guard lock(mutex_);
  wake_all();
}

void LinkClerk::wake_all() {
  halted_ = true;
  for (Row& row : rows_) row.wake.notify_one();
}

TaskId LinkClerk::first_unknown(std::span<const Reading> readings) const {
  const auto found = std::find_if(readings.begin(), readings.end(), [&](const Reading& reading) {
    return timeline_.end[reading.transfer] == unknown;
  });
  return found == readings.end() ? no_task : found->transfer;
}

/// Lets a waiting rank run once it is known when everything has arrived.
void LinkClerk::resume(Row& row) {
  if (first_unknown(row.readings) != no_task) return;
  for (const Reading& reading : row.readings) {
    row.behind = std::max(row.behind, timeline_.end[reading.transfer]);
  }
  row.state = State::runs;
  row.wake.notify_one();
}

void LinkClerk::decide_what_can() {
  while (!halted_ && !events_.empty() && events_.next_time() < earliest_send()) {
    decide_next_moment();
  }
  halt_if_stuck();
}

/// Everything that happens at one moment is known before anything is decided.
void LinkClerk::decide_next_moment() {
  const Time now = events_.next_time();
  while (const auto event = events_.pop_at(now)) {
    if (event->kind() == EventKind::ready) {
      transfers_->ready(event->id());
    } else {
      known(transfers_->leave(*event));
    }
  }
  transfers_->settle(now);
}

/// No later send of a running rank can be ready before.
Time LinkClerk::earliest_send() const {
  Time earliest = max_time;
  for (const Row& row : rows_) {
    if (row.state == State::runs) earliest = std::min(earliest, row.behind);
  }
  return earliest;
}

void LinkClerk::queue(TaskId transfer, Time ready) {
  const Plan& plan = priced_.plan;
  const std::uint32_t link = plan.class_of(transfer).resource - plan.ranks;
  if (!private_[link]) return events_.push({ready, EventKind::ready, transfer});
  const Time begin = std::max(link_free_[link], ready);
  link_free_[link] = begin + priced_.costs.duration_of(plan, transfer);
  timeline_.begin[transfer] = begin;
  timeline_.end[transfer] = link_free_[link] + priced_.costs.latency_of(plan, transfer);
  known(transfer);
}

/// It is known when a transfer arrives.
void LinkClerk::known(TaskId transfer) {
  for (Row& row : rows_) {
    if (row.state == State::waits) resume(row);
  }
  const auto held = held_.extract(transfer);
  if (!held) return;
  queue(held.mapped().transfer, std::max(held.mapped().ready, timeline_.end[transfer]));
}

/// Nobody runs, and nothing is under way.
void LinkClerk::halt_if_stuck() {
  const auto in_state = [&](State state) {
    return std::any_of(rows_.begin(), rows_.end(),
                       [&](const Row& row) { return row.state == state; });
  };
  if (halted_ || in_state(State::runs) || !in_state(State::waits) || !events_.empty()) return;
  for (const Row& row : rows_) {
    deadlock_.emplace_back();
    if (row.state == State::waits) deadlock_.back() = first_unknown(row.readings);
  }
  wake_all();
}

}  // namespace penstock
