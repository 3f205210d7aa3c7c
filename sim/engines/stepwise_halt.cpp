#include <fmt/format.h>

#include "sim/engines/stepwise_run.hpp"

namespace penstock {

Standstill Stepwise::standstill() const {
  std::vector<Stuck> stuck;
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    const Row& row = rows_[rank];
    if (!row.rest.empty()) stuck.push_back({rank, row.rest.front(), needs_of(row)});
  }
  for (std::uint32_t link = 0; link < plan_.links.size(); ++link) {
    const TaskId transfer = transfers_.first_waiting(link);
    if (transfer == no_task) continue;
    const bool memory = room_ && !fits_beside_next(transfer);
    stuck.push_back(
        {plan_.ranks + link, transfer,
         memory ? fmt::format("memory of {}", end_phrase(plan_.links[link].to))
                : fmt::format("{} to be ready to receive it", end_phrase(plan_.links[link].to))});
  }
  return deadlock_at(now_, plan_, stuck);
}

/// ", which follows 0SEND_F6": the transfer ahead of a ready one.
std::string Stepwise::behind_text(TaskId transfer) const {
  if (!is_transfer(plan_.class_of(transfer).pass) || !inputs_are_there(transfer)) return "";
  const TaskId first = transfers_.first_waiting(plan_.class_of(transfer).resource - plan_.ranks);
  if (first == no_task || first == transfer) return "";
  return ", which follows " + task_text(plan_, first);
}

/// What the next cell of a rank lacks.
std::string Stepwise::needs_of(const Row& row) const {
  const TaskId task = row.rest.front();
  TaskId missing = no_task;
  plan_.for_each_input(task, [&](TaskId input) {
    if (missing == no_task && !is_there(input)) missing = input;
  });
  if (missing != no_task) return task_text(plan_, missing) + behind_text(missing);
  if (conditions_.blocking_sends && row.unsent > 0) return "the sends of its rank to leave";
  if (!room_ || room_->fits(first_cell(row.rest))) return "its policy to start it";
  const Rank rank{plan_.class_of(task).resource};
  return fmt::format("memory of rank {}: it needs {} more bytes, and {} of {} are in use",
                     index(rank), room_->change_at_start(task, rank), room_->held(rank),
                     room_->capacity());
}

}  // namespace penstock
