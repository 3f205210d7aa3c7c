#include <algorithm>
#include <utility>

#include "sim/engines/stepwise_run.hpp"

namespace penstock {

void Stepwise::try_start(std::uint32_t rank) {
  Row& row = rows_[rank];
  if (row.runs || row.rest.empty()) return;
  if (conditions_.blocking_sends && row.unsent > 0) return;
  if (conditions_.rendezvous || room_) look_at_links(rank);  // they look at what comes next
  if (!is_launched(rank)) return;
  if (dispatcher_ != nullptr ? !choose(rank) : !inputs_are_there(row.rest.front())) return;
  const std::span<const TaskId> cell = first_cell(row.rest);
  if (has_memory(row, cell)) start_cell(rank, cell);
}

/// Lets the dispatcher choose the next of a rank's remaining tasks.
bool Stepwise::choose(std::uint32_t rank) {
  Row& row = rows_[rank];
  const auto chosen = dispatcher_->choose(Rank{rank}, [&](TaskId task) {
    return !room_ || room_->fits({&task, 1});
  });
  if (!chosen) return false;
  TaskId& first = row.rest.front();
  std::swap(place_of_[first], place_of_[*chosen]);
  std::swap(first, orders_.tasks[place_of_[first]]);
  return true;
}

bool Stepwise::inputs_are_there(TaskId task) const {
  bool there = true;
  plan_.for_each_input(task, [&](TaskId input) { there = there && is_there(input); });
  return there;
}

bool Stepwise::is_launched(std::uint32_t rank) {
  const Time launched = rows_[rank].issued + costs_.launch;
  if (launched <= now_) return true;
  events_.set({launched, EventKind::wakes, rank});
  return false;
}

bool Stepwise::has_memory(Row& row, std::span<const TaskId> cell) {
  if (!room_) return true;
  if (row.lacks_memory == never) row.lacks_memory = now_;
  if (!room_->fits(cell)) return false;
  timeline_.memory_wait[cell.front()] = now_ - std::exchange(row.lacks_memory, never);
  return true;
}

void Stepwise::start_cell(std::uint32_t rank, std::span<const TaskId> cell) {
  Row& row = rows_[rank];
  for (const TaskId task : cell) {
    timeline_.begin[task] = now_;
    if (ran_ != nullptr) ran_->push_back(task);
    if (room_) room_->start(task);
    freed(task);
  }
  timeline_.last_input[cell.front()] = last_input(row, cell.front());
  const Time duration = costs_.duration_of(plan_, cell.front());
  row.runs = true;
  row.left = static_cast<double>(duration.picoseconds);
  row.since = now_;
  row.speed = 1;
  events_.set({now_ + duration, EventKind::ends, rank});
  touch(rank);
}

/// The input that arrived last, ties to the first; or a send of the rank itself if that delayed it
/// longer.
TaskId Stepwise::last_input(const Row& row, TaskId task) const {
  TaskId last = no_task;
  plan_.for_each_input(task, [&](TaskId input) {
    if (last == no_task || end_[input] > end_[last]) last = input;
  });
  const bool held_up = row.sent_last != no_task && row.sent_at > row.free_at &&
                       (last == no_task || row.sent_at > end_[last]);
  return held_up ? row.sent_last : last;
}

/// The running cell is slower while a transfer of its rank is in flight.
void Stepwise::set_speed(std::uint32_t rank) {
  Row& row = rows_[rank];
  const double speed = row.in_flight > 0 ? 1 / conditions_.compute_slowdown : 1;
  if (!row.runs || speed == row.speed) return;
  row.left -= static_cast<double>((now_ - row.since).picoseconds) * row.speed;
  row.since = now_;
  row.speed = speed;
  const Time end = later(now_, std::max(row.left, 0.0) / speed);
  events_.set({end, EventKind::ends, rank});
}

std::span<const TaskId> Stepwise::first_cell(std::span<const TaskId> rest) const {
  std::size_t size = 1;
  if (plan_.followers.empty()) return rest.first(size);
  while (size < rest.size() && plan_.class_of(rest[size]).follows_partner) ++size;
  return rest.first(size);
}

}  // namespace penstock
