#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "validate/ranks/step_clerk.hpp"

namespace penstock {
namespace {

std::vector<TaskId> cell_of_step(const Step& step) {
  if (step.beside == no_task) return {step.task};
  return {step.task, step.beside};
}

}  // namespace

void StepClerk::settle() {
  const Transfers::Gate gate = [this](TaskId transfer) { return depart(transfer); };
  send_early();
  for (bool again = true; again;) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      if (std::exchange(rows_[rank].dirty, false)) ranks.push_back(rank);
    }
    for (const std::uint32_t rank : ranks) try_start(rank);
    slow_links();
    transfers_->settle(now_, gate);
    again = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.dirty; });
  }
  if (conditions_.compute_slowdown != 1) {
    for (const std::uint32_t rank : touched_) set_speed(rank);
  }
  touched_.clear();
}

/// A rank that runs looks for what is next when its step ends.
void StepClerk::look_at(std::uint32_t rank) {
  if (rows_[rank].running == nullptr) rows_[rank].dirty = true;
}

void StepClerk::look_at_links(std::uint32_t rank) {
  for (const std::uint32_t link : links_of_[rank]) transfers_->reconsider(link);
}

/// The next step of a rank goes first, then what it receives.
void StepClerk::memory_changed(TaskId task) {
  for (const std::uint32_t rank : memory_->ranks_of(task)) {
    look_at(rank);
    look_at_links(rank);
  }
}

bool StepClerk::all_there(const Step& step) const {
  return std::all_of(step.reads.begin(), step.reads.end(),
                     [&](const Reading& reading) { return is_there(reading.transfer); });
}

void StepClerk::try_start(std::uint32_t rank) {
  const Row& row = rows_[rank];
  if (row.running != nullptr || row.next == nullptr) return;
  if (conditions_.blocking_sends && row.unsent > 0) return;
  if (conditions_.rendezvous || memory_) look_at_links(rank);  // they look at what comes next
  if (launched(row) > now_ || !all_there(*row.next)) return;
  if (!memory_ || memory_->fits(cell_of_step(*row.next))) grant(rank);
}

void StepClerk::grant(std::uint32_t rank) {
  Row& row = rows_[rank];
  row.running = std::exchange(row.next, nullptr);
  row.computes = true;
  row.since = now_;
  row.speed = 1;
  for (const TaskId task : cell_of_step(*row.running)) {
    timeline_.begin[task] = now_;
    if (!memory_) continue;
    memory_->start(task);
    memory_changed(task);
  }
  touched_.push_back(rank);
  row.wake.notify_one();
}

/// A step is slower while a transfer of its rank is in flight.
void StepClerk::set_speed(std::uint32_t rank) {
  Row& row = rows_[rank];
  const double speed = row.in_flight > 0 ? 1 / conditions_.compute_slowdown : 1;
  if (row.running == nullptr || speed == row.speed) return;
  const double done = static_cast<double>((now_ - row.since).picoseconds) * row.speed;
  row.since = now_;
  row.speed = speed;
  if (row.computes) return;  // it starts at this moment
  row.left -= done;
  row.end = later(now_, std::max(row.left, 0.0) / speed);
}

/// A transfer is slower while one of its ranks runs a step.
void StepClerk::slow_links() {
  if (conditions_.transfer_slowdown == 1) return;
  const auto runs = [&](Rank end) {
    return index(end) < rows_.size() && rows_[index(end)].running != nullptr;
  };
  for (const std::uint32_t rank : touched_) {
    for (const std::uint32_t link : links_of_[rank]) {
      const auto& [from, to] = priced_.plan.links[link];
      transfers_->set_slowed(link, runs(from) || runs(to));
    }
  }
}

/// Starts a transfer if it may start.
bool StepClerk::depart(TaskId transfer) {
  if (!may_travel(transfer)) return false;
  if (memory_) memory_->start(transfer);
  const Link& link = priced_.plan.link(priced_.plan.class_of(transfer).resource);
  for (const bool sends : {true, false}) {
    const std::uint32_t rank = index(sends ? link.from : link.to);
    if (rank >= rows_.size()) continue;
    ++rows_[rank].in_flight;
    ++(sends ? rows_[rank].sends : rows_[rank].receives);
    touched_.push_back(rank);
  }
  return true;
}

bool StepClerk::may_travel(TaskId transfer) const {
  const WorkClass& work = priced_.plan.class_of(transfer);
  const Link& link = priced_.plan.link(work.resource);
  for (const bool sends : {true, false}) {
    const std::uint32_t most = conditions_.most_in_flight(sends);
    const std::uint32_t rank = index(sends ? link.from : link.to);
    if (most == 0 || rank >= rows_.size()) continue;
    if ((sends ? rows_[rank].sends : rows_[rank].receives) >= most) return false;
  }
  if (conditions_.rendezvous && passes_on(work.pass) && !is_awaited(transfer)) return false;
  return !memory_ || has_room_for(transfer);
}

/// Whether the receiver is directly before the step that reads a transfer.
bool StepClerk::is_awaited(TaskId transfer) const {
  const std::uint32_t to = index(priced_.plan.link(priced_.plan.class_of(transfer).resource).to);
  if (to >= rows_.size()) return true;
  const Row& row = rows_[to];
  if (row.running != nullptr || row.next == nullptr || row.unsent > 0) return false;
  return std::any_of(row.next->reads.begin(), row.next->reads.end(),
                     [&](const Reading& reading) { return reading.transfer == transfer; });
}

/// The receiver keeps room for its next step and what that still reads, once the running one has
/// ended, unless the transfer is for that step: early tensors could otherwise block the very step
/// that would free memory.
bool StepClerk::has_room_for(TaskId transfer) const {
  const std::uint32_t to = index(priced_.plan.link(priced_.plan.class_of(transfer).resource).to);
  if (!memory_->fits({transfer})) return false;
  if (to >= rows_.size()) return true;
  const Row& row = rows_[to];
  const Step* const next = row.computes ? row.after : row.next;
  if (next == nullptr) return true;
  std::vector<TaskId> to_come = cell_of_step(*next);
  for (const Reading& reading : next->reads) {
    if (reading.transfer == transfer) return true;
    if (timeline_.begin[reading.transfer] == unknown) to_come.push_back(reading.transfer);
  }
  return memory_->fits_later(transfer, to, to_come);
}

std::string StepClerk::lack_of(std::uint32_t rank) const {
  const Row& row = rows_[rank];
  for (const Reading& reading : row.next->reads) {
    if (!is_there(reading.transfer)) return task_text(priced_.plan, reading.transfer);
  }
  if (row.unsent > 0) return "the sends of its rank to leave";
  return "memory";
}

/// Nothing happens any more: all have finished, or the others wait forever.
void StepClerk::halt_stuck() {
  for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
    if (rows_[rank].next == nullptr) continue;
    deadlock_ += fmt::format("{} {} of rank {} waits for {}", deadlock_.empty() ? "" : ";",
                             task_text(priced_.plan, rows_[rank].next->task), rank, lack_of(rank));
  }
  if (!deadlock_.empty()) wake_all();
}

}  // namespace penstock
