#include "validate/ranks/step_clerk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

std::vector<TaskId> tasks_of_step(const Step& step) {
  if (step.beside == no_task) return {step.task};
  return {step.task, step.beside};
}

}  // namespace

bool needs_steps(const Conditions& conditions) {
  return conditions.stall_above_bytes || conditions.compute_slowdown != 1 ||
         conditions.transfer_slowdown != 1 || conditions.blocking_sends || conditions.rendezvous ||
         conditions.limits_in_flight();
}

StepClerk::StepClerk(const PricedPlan& priced)
    : priced_(priced),
      conditions_(priced.conditions),
      slows_(conditions_.compute_slowdown != 1 || conditions_.transfer_slowdown != 1),
      links_of_(priced.plan.ranks),
      rows_(priced.plan.ranks) {
  const Plan& plan = priced.plan;
  for (std::uint32_t link = 0; link < plan.links.size(); ++link) {
    for (const Rank end : {plan.links[link].from, plan.links[link].to}) {
      if (index(end) < plan.ranks) links_of_[index(end)].push_back(link);
    }
  }
  if (conditions_.stall_above_bytes) memory_.emplace(priced, *conditions_.stall_above_bytes);
}

void StepClerk::begin() {
  for (Row& row : rows_) {
    row.computes = true;
    row.running = row.next = row.after = nullptr;
    row.early_sent = row.dirty = false;
    row.ended = row.in_flight = row.sends = row.receives = row.unsent = 0;
  }
  prepare(priced_.plan, timeline_);
  timeline_.slowed.assign(priced_.plan.tasks(), Time{});
  timeline_.memory_wait.assign(priced_.plan.tasks(), Time{});
  held_.clear();
  readers_.clear();
  touched_.clear();
  if (memory_) memory_->clear();
  events_ = {};
  transfers_.emplace(priced_.plan, priced_.costs, conditions_, timeline_, events_,
                     Transfers::Ends::known_late);
  now_ = {};
  started_ = false;
  deadlock_.clear();
  halted_ = false;
}

std::optional<Time> StepClerk::start(std::uint32_t rank, Time took, const Step& step,
                                     const Step* after) {
  std::unique_lock lock(mutex_);
  Row& row = rows_[rank];
  declare(rank, took, &step, after);
  decide_what_can();
  row.wake.wait(lock, [&] { return row.running == &step || halted_; });
  if (halted_) return std::nullopt;
  return timeline_.begin[step.task];
}

void StepClerk::finish(std::uint32_t rank, Time took) {
  const std::lock_guard lock(mutex_);
  declare(rank, took, nullptr, nullptr);
  decide_what_can();
}

void StepClerk::halt() {
  const std::lock_guard lock(mutex_);
  wake_all();
}

void StepClerk::wake_all() {
  halted_ = true;
  for (Row& row : rows_) row.wake.notify_one();
}

void StepClerk::declare(std::uint32_t rank, Time took, const Step* next, const Step* after) {
  Row& row = rows_[rank];
  row.computes = false;
  row.next = next;
  row.after = after;
  row.early_sent = false;
  if (row.running == nullptr) return look_at(rank);
  if (slows_) timeline_.slowed[row.running->task] = took;  // until it ends
  row.left = static_cast<double>(took.picoseconds);
  row.end = row.speed == 1 ? row.since + took : later(row.since, row.left / row.speed);
}

void StepClerk::decide_what_can() {
  const auto computes = [](const Row& row) { return row.computes; };
  while (!halted_ && std::none_of(rows_.begin(), rows_.end(), computes)) {
    if (!std::exchange(started_, true)) {
      if (memory_ && memory_->is_too_full()) return halt_stuck();
    } else {
      const Time moment = next_moment();
      if (moment == max_time) return halt_stuck();
      now_ = moment;
      book_moment();
    }
    settle();
  }
}

/// The next moment at which anything happens.
Time StepClerk::next_moment() const {
  Time moment = events_.empty() ? max_time : events_.next_time();
  for (const Row& row : rows_) {
    if (row.running != nullptr) {
      moment = std::min(moment, row.end);
    } else if (row.next != nullptr && launched(row) > now_) {
      moment = std::min(moment, launched(row));
    }
  }
  return moment;
}

/// The host issues the steps of a rank one after the other.
Time StepClerk::launched(const Row& row) const {
  const Costs& costs = priced_.costs;
  return Time{costs.launch.picoseconds + costs.issue.picoseconds * (row.ended + 1)};
}

/// Everything that happens at one moment is known before anything is decided.
void StepClerk::book_moment() {
  while (const auto event = events_.pop_at(now_)) {
    if (event->kind() == EventKind::arrives) {
      arrived(event->id());
    } else if (const TaskId transfer = transfers_->leave(*event); transfer != no_task) {
      left(transfer);
    }
  }
  for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
    const Row& row = rows_[rank];
    if (row.running != nullptr && row.end == now_) end_step(rank);
    if (row.running == nullptr && row.next != nullptr && launched(row) == now_) look_at(rank);
  }
}

void StepClerk::end_step(std::uint32_t rank) {
  Row& row = rows_[rank];
  const Step& step = *std::exchange(row.running, nullptr);
  ++row.ended;
  const Time length = now_ - timeline_.begin[step.task];
  if (slows_) timeline_.slowed[step.task] = length - timeline_.slowed[step.task];
  for (const TaskId task : tasks_of_step(step)) {
    timeline_.end[task] = now_;
    if (!memory_) continue;
    memory_->end(task);
    memory_changed(task);
  }
  request(step.sends);
  look_at(rank);
  touched_.push_back(rank);
}

/// A return waits for its eviction, everything else for nothing more.
void StepClerk::request(const std::vector<TensorSend>& sends) {
  for (const TensorSend& sending : sends) {
    for (const TensorReader& reader : sending.readers) {
      readers_[sending.transfer].push_back(reader.rank);
    }
    if (sending.brings_back == no_task || is_there(sending.brings_back)) {
      request(sending.transfer);
    } else {
      held_[sending.brings_back] = sending.transfer;
    }
  }
}

void StepClerk::request(TaskId transfer) {
  const Plan& plan = priced_.plan;
  const WorkClass& work = plan.class_of(transfer);
  transfers_->ready(transfer);
  if (conditions_.blocking_sends && passes_on(work.pass)) {
    ++rows_[index(plan.link(work.resource).from)].unsent;
  }
}

/// The last byte has left; the tensor is there a latency later.
void StepClerk::left(TaskId transfer) {
  if (timeline_.end[transfer] > now_) {
    events_.push({timeline_.end[transfer], EventKind::arrives, transfer});
  } else {
    arrived(transfer);
  }
  const Plan& plan = priced_.plan;
  const WorkClass& work = plan.class_of(transfer);
  if (!conditions_.blocking_sends || !passes_on(work.pass)) return;
  const std::uint32_t from = index(plan.link(work.resource).from);
  if (--rows_[from].unsent == 0) look_at(from);
}

void StepClerk::arrived(TaskId transfer) {
  if (memory_) memory_->end(transfer);
  const Link& link = priced_.plan.link(priced_.plan.class_of(transfer).resource);
  for (const bool sends : {true, false}) {
    const std::uint32_t rank = index(sends ? link.from : link.to);
    if (rank >= rows_.size()) continue;
    Row& row = rows_[rank];
    --row.in_flight;
    // With a free place before, none of its other transfers waited for one.
    const bool full = (sends ? row.sends : row.receives)-- == conditions_.most_in_flight(sends);
    look_at(rank);
    touched_.push_back(rank);
    if (full) look_at_links(rank);
  }
  for (const std::uint32_t rank : readers_[transfer]) look_at(rank);
  if (memory_) memory_changed(transfer);
  if (const auto held = held_.extract(transfer)) request(held.mapped());
}

/// What a step sends before it starts goes once its rank is free and all that it reads is there.
void StepClerk::send_early() {
  for (Row& row : rows_) {
    if (row.running != nullptr || row.next == nullptr || row.early_sent) continue;
    if (row.next->early.empty() || !all_there(*row.next)) continue;
    row.early_sent = true;
    request(row.next->early);
  }
}

}  // namespace penstock
