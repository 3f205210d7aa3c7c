#include <algorithm>
#include <limits>

#include "sim/engines/stepwise_run.hpp"

namespace penstock {

MemoryRoom::MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity)
    : plan_(plan),
      capacity_(static_cast<std::int64_t>(
          std::min<std::uint64_t>(capacity, std::numeric_limits<std::int64_t>::max() / 2))),
      held_(plan.ranks),
      ending_(plan.ranks) {
  const RankEffects effects(plan, costs.bytes);
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    changes_.push_back(changes_of(effects.of(effects.of_class(c)), plan.ranks));
  }
  std::vector<std::vector<Change>> reserving = changes_;
  for (std::size_t c = 0; c < reserving.size(); ++c) {
    reserve_for_end(plan.classes[c], reserving[c]);
  }
  changes_ = std::move(reserving);
  const std::vector<HeldBytes> whole_run = bytes_for_whole_run(plan, costs);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    held_[rank] = static_cast<std::int64_t>(sum_of(whole_run[rank]));
  }
}

std::vector<MemoryRoom::Change> MemoryRoom::changes_of(std::span<const RankEffect> effects,
                                                       std::uint32_t ranks) {
  std::vector<Change> changes;
  for (const RankEffect& effect : effects) {
    const Rank rank{effect.rank};
    if (effect.rank >= ranks) continue;
    auto change = std::ranges::find(changes, rank, &Change::rank);
    if (change == changes.end()) change = changes.insert(change, {.rank = rank});
    (effect.at_end() ? change->at_end : change->at_start) +=
        static_cast<std::int64_t>(effect.change);
  }
  return changes;
}

/// The parts of a fused cell end together, the first before the second: what they allocate then is
/// reserved with the second.
void MemoryRoom::reserve_for_end(const WorkClass& work, std::vector<Change>& changes) const {
  const bool leads = work.partner != UINT32_MAX && !work.follows_partner;
  for (Change& change : changes) {
    if (leads) continue;
    std::int64_t before = 0;
    if (work.follows_partner) {
      for (const Change& one : changes_[work.partner]) {
        if (one.rank == change.rank) before += one.at_end;
      }
    }
    const std::int64_t most = std::max({std::int64_t{0}, before, before + change.at_end});
    change.at_start += most;
    change.at_end -= most;
  }
}

bool MemoryRoom::fits(std::span<const TaskId> tasks) const {
  for (const TaskId first : tasks) {
    for (const Change& wanted : changes_[plan_.work[first]]) {
      std::int64_t takes = 0, sum = 0;
      for (const TaskId task : tasks) {
        const std::int64_t change = change_at_start(task, wanted.rank);
        takes = std::max(takes, change);
        sum += change;
      }
      if (takes > 0 && held(wanted.rank) + sum > capacity_) return false;
    }
  }
  return true;
}

bool MemoryRoom::fits_later(TaskId task, Rank rank, std::int64_t more) const {
  const std::int64_t takes = change_at_start(task, rank);
  return takes <= 0 || held(rank) + ending_[index(rank)] + takes + more <= capacity_;
}

void MemoryRoom::start(TaskId task) {
  for (const Change& change : changes_[plan_.work[task]]) {
    held_[index(change.rank)] += change.at_start;
    ending_[index(change.rank)] += change.at_end;
  }
}

void MemoryRoom::end(TaskId task) {
  for (const Change& change : changes_[plan_.work[task]]) {
    held_[index(change.rank)] += change.at_end;
    ending_[index(change.rank)] -= change.at_end;
  }
}

std::int64_t MemoryRoom::change_at_start(TaskId task, Rank rank) const {
  for (const Change& change : changes_[plan_.work[task]]) {
    if (change.rank == rank) return change.at_start;
  }
  return 0;
}

}  // namespace penstock
