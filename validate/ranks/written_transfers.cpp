#include "validate/ranks/written_transfers.hpp"

#include <algorithm>
#include <utility>

#include "validate/machine/clock.hpp"

namespace penstock {

WrittenTransfers::WrittenTransfers(const PricedPlan& priced, Waits waits)
    : priced_(priced),
      waits_(waits),
      before_(priced.plan.tasks(), no_task),
      rows_(priced.plan.ranks) {
  const Plan& plan = priced.plan;
  std::vector<TaskId> last(plan.resources(), no_task);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (plan.is_link(resource)) before_[task] = std::exchange(last[resource], task);
  }
}

void WrittenTransfers::begin() {
  spans_.assign(priced_.plan.tasks(), {unknown, unknown});
  for (Row& row : rows_) {
    row.finished = false;
    row.goes = true;
  }
  deadlock_.clear();
  halted_ = false;
}

void WrittenTransfers::ended(const Step& step, Time end) {
  const std::lock_guard lock(mutex_);
  spans_[step.task].end = end;
  if (step.beside != no_task) spans_[step.beside].end = end;
  for (Row& row : rows_) {
    if (row.goes || !know_all(row.awaited)) continue;
    row.goes = true;
    row.wake.notify_one();
  }
}

std::optional<Time> WrittenTransfers::await(std::uint32_t rank, std::span<const TaskId> tasks,
                                            Time now) {
  std::unique_lock lock(mutex_);
  if (!halted_ && !know_all(tasks)) {
    Row& row = rows_[rank];
    row.awaited = tasks;
    row.goes = false;
    halt_if_stuck();
    wait(lock, row);
  }
  if (halted_) return std::nullopt;
  for (const TaskId task : tasks) now = std::max(now, spans_[task].end);
  return now;
}

void WrittenTransfers::finish(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  rows_[rank].finished = true;
  halt_if_stuck();
}

void WrittenTransfers::halt() {
  const std::lock_guard lock(mutex_);
  wake_all();
}

Span WrittenTransfers::span(TaskId transfer) {
  const std::lock_guard lock(mutex_);
  know(transfer);
  return spans_[transfer];
}

/// Whether it is known, or can be, when a task has ended: what a transfer waits for, transfers
/// among it, is looked at first.
bool WrittenTransfers::know(TaskId task) {
  const Plan& plan = priced_.plan;
  open_.assign(1, task);
  while (!open_.empty()) {
    const TaskId at = open_.back();
    if (spans_[at].end != unknown) {
      open_.pop_back();
      continue;
    }
    if (!plan.is_link(plan.class_of(at).resource)) return false;
    const std::size_t under = open_.size();
    bool follows = true;  // as in every plan that is in order
    const auto look_at = [&](TaskId input) {
      if (spans_[input].end == unknown) open_.push_back(input);
      follows = follows && input < at;
    };
    if (before_[at] != no_task) look_at(before_[at]);
    plan.for_each_input(at, look_at);
    if (!follows) return false;
    if (open_.size() == under) put(at);
  }
  return true;
}

bool WrittenTransfers::know_all(std::span<const TaskId> tasks) {
  return std::all_of(tasks.begin(), tasks.end(), [this](TaskId task) { return know(task); });
}

/// Everything that a transfer waits for has ended.
void WrittenTransfers::put(TaskId transfer) {
  const auto& [plan, costs, conditions] = priced_;
  Time begin{};
  plan.for_each_input(transfer, [&](TaskId input) { begin = std::max(begin, spans_[input].end); });
  if (const TaskId before = before_[transfer]; before != no_task) {
    begin = std::max(begin, spans_[before].end - costs.latency_of(plan, before));
  }
  spans_[transfer] = {begin,
                      begin + costs.duration_of(plan, transfer) + costs.latency_of(plan, transfer)};
}

/// Until all that a rank waits for is known.
void WrittenTransfers::wait(std::unique_lock<std::mutex>& lock, Row& row) {
  if (waits_ == Waits::asleep) {
    row.wake.wait(lock, [&row] { return row.goes.load(); });
    return;
  }
  lock.unlock();
  while (!row.goes) spin_pause();
  lock.lock();
}

/// Nobody runs, and someone waits.
void WrittenTransfers::halt_if_stuck() {
  const auto waits = [](const Row& row) { return !row.finished && !row.goes; };
  const auto runs = [](const Row& row) { return !row.finished && row.goes; };
  if (halted_ || std::any_of(rows_.begin(), rows_.end(), runs) ||
      std::none_of(rows_.begin(), rows_.end(), waits)) {
    return;
  }
  for (const Row& row : rows_) {
    deadlock_.emplace_back();
    if (!waits(row)) continue;
    deadlock_.back() = *std::find_if(row.awaited.begin(), row.awaited.end(),
                                     [this](TaskId task) { return !know(task); });
  }
  wake_all();
}

void WrittenTransfers::wake_all() {
  halted_ = true;
  for (Row& row : rows_) {
    row.goes = true;
    row.wake.notify_one();
  }
}

}  // namespace penstock
