#include "validate/ranks/step_workers.hpp"

namespace penstock {

void StepWorkers::begin() {
  for (Row& row : rows_) {
    row.granted = no_task;
    row.took.reset();
  }
  halted_ = false;
}

std::optional<Time> StepWorkers::await_start(std::uint32_t rank, TaskId action) {
  std::unique_lock lock(mutex_);
  Row& row = rows_[rank];
  row.changed.wait(lock, [&] { return row.granted == action || halted_; });
  if (halted_) return std::nullopt;
  return row.begin;
}

void StepWorkers::finish(std::uint32_t rank, Time took) {
  const std::lock_guard lock(mutex_);
  rows_[rank].took = took;
  rows_[rank].changed.notify_all();
}

void StepWorkers::halt() {
  const std::lock_guard lock(mutex_);
  halted_ = true;
  for (Row& row : rows_) row.changed.notify_all();
}

void StepWorkers::start(TaskId first, Time now) {
  const std::lock_guard lock(mutex_);
  Row& row = row_of(first);
  row.granted = first;
  row.begin = now;
  row.took.reset();
  row.changed.notify_all();
}

std::optional<Time> StepWorkers::took(TaskId first) {
  std::unique_lock lock(mutex_);
  Row& row = row_of(first);
  row.changed.wait(lock, [&] { return row.took.has_value() || halted_; });
  return row.took;
}

}  // namespace penstock
