#include <fmt/format.h>

#include <algorithm>

#include "sim/base/short_text.hpp"
#include "sim/engines/stepwise_run.hpp"

namespace penstock {

/// Updates the links of ranks that have started or stopped running.
void Stepwise::slow_links() {
  if (conditions_.transfer_slowdown == 1) return;
  const auto runs = [&](Rank end) { return index(end) < plan_.ranks && rows_[index(end)].runs; };
  for (const std::uint32_t rank : touched_) {
    for (const std::uint32_t link : links_of_[rank]) {
      transfers_.set_slowed(link, runs(plan_.links[link].from) || runs(plan_.links[link].to));
    }
  }
}

bool Stepwise::may_start(TaskId transfer) {
  bool free_place = true;
  if (conditions_.limits_in_flight()) {
    for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
      const Row& row = rows_[rank];
      const std::uint32_t most = conditions_.most_in_flight(sends);
      free_place = free_place && (most == 0 || (sends ? row.sends : row.receives) < most);
    });
  }
  const bool meets = conditions_.rendezvous && passes_on(plan_.class_of(transfer).pass);
  if (!free_place || (meets && !is_awaited(transfer))) return false;
  if (!room_) return true;
  Time& wait = timeline_.memory_wait[transfer];
  if (fits_beside_next(transfer)) {
    if (wait < Time{}) wait = now_ + wait + Time{1};
    return true;
  }
  // Until the transfer starts: -1 - the moment since which it waits.
  if (wait == Time{}) wait = Time{-1} - now_;
  return false;
}

/// Whose memory a transfer takes: that of its receiver, or of a rank that gathers from replicas.
Rank Stepwise::taker_of(TaskId transfer) const {
  const Link& link = plan_.link(plan_.class_of(transfer).resource);
  return link.to == data_replicas ? link.from : link.to;
}

/// Whether the taker has room for a transfer. Leaves room for its next cell once the running one
/// has ended, unless the transfer is for that cell: early tensors could otherwise block the very
/// actions that would free memory.
bool Stepwise::fits_beside_next(TaskId transfer) const {
  const Rank to = taker_of(transfer);
  if (!room_->fits({&transfer, 1})) return false;
  const auto need = index(to) < plan_.ranks ? need_of_next(to, transfer) : std::nullopt;
  return !need || room_->fits_later(transfer, to, *need);
}

/// Memory that a rank needs for its next cell and the inputs still to arrive; nothing when
/// `transfer` is one of these.
std::optional<std::int64_t> Stepwise::need_of_next(Rank rank, TaskId transfer) const {
  const Row& row = rows_[index(rank)];
  const auto rest = row.rest.subspan(row.runs ? first_cell(row.rest).size() : 0);
  if (rest.empty() || dispatcher_ != nullptr) return std::nullopt;  // a policy has no next cell
  std::int64_t need = 0;
  bool for_next = false;
  for (const TaskId task : first_cell(rest)) need += room_->change_at_start(task, rank);
  plan_.for_each_input(rest.front(), [&](TaskId input) {
    for_next = for_next || input == transfer;
    if (timeline_.begin[input] == unknown) need += room_->change_at_start(input, rank);
  });
  return for_next ? std::nullopt : std::optional(need);
}

/// Whether the reader of a transfer is directly before the action that reads it.
bool Stepwise::is_awaited(TaskId transfer) const {
  const Rank to = plan_.link(plan_.class_of(transfer).resource).to;
  if (index(to) >= plan_.ranks) return true;
  const Row& row = rows_[index(to)];
  const bool sends = conditions_.blocking_sends && row.unsent > 0;
  if (row.runs || sends || row.rest.empty()) return false;
  if (dispatcher_ != nullptr) return true;
  const auto inputs = plan_.inputs_of(row.rest.front());
  return std::ranges::find(inputs, transfer) != inputs.end();
}

bool Stepwise::start_if_may(TaskId transfer) {
  if (!may_start(transfer)) return false;
  if (room_) room_->start(transfer);
  for_each_end(transfer, [&](std::uint32_t rank, bool sends) {
    ++rows_[rank].in_flight;
    ++(sends ? rows_[rank].sends : rows_[rank].receives);
    touch(rank);
  });
  return true;
}

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
         memory ? fmt::format("memory of {}", end_phrase(taker_of(transfer)))
                : fmt::format("{} to be ready to receive it", end_phrase(plan_.links[link].to))});
  }
  return deadlock_at(now_, plan_, stuck);
}

/// ", which follows 0SEND_F6": the transfer ahead of a ready one.
std::string Stepwise::behind_text(TaskId transfer) const {
  if (!is_transfer(plan_.class_of(transfer).pass) || first_missing(transfer) != no_task) return "";
  const TaskId first = transfers_.first_waiting(plan_.class_of(transfer).resource - plan_.ranks);
  if (first == no_task || first == transfer) return "";
  return ", which follows " + task_text(plan_, first);
}

/// What the next cell of a rank lacks.
std::string Stepwise::needs_of(const Row& row) const {
  const TaskId task = row.rest.front();
  const TaskId missing = first_missing(task);
  if (missing != no_task) return task_text(plan_, missing) + behind_text(missing);
  if (conditions_.blocking_sends && row.unsent > 0) return "the sends of its rank to leave";
  if (!room_ || room_->fits(first_cell(row.rest))) return "its policy to start it";
  const Rank rank{plan_.class_of(task).resource};
  const auto size = [](std::int64_t bytes) {
    return bytes_text(static_cast<std::uint64_t>(bytes));
  };
  return fmt::format("memory of rank {}: it needs {} more, and {} of {} are in use", index(rank),
                     size(room_->change_at_start(task, rank)), size(room_->held(rank)),
                     size(room_->capacity()));
}

}  // namespace penstock
