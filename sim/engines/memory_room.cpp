#include "sim/engines/memory_room.hpp"

#include <algorithm>

namespace penstock {

MemoryRoom::MemoryRoom(const Plan& plan, const Costs& costs, std::uint64_t capacity)
    : plan_(plan), capacity_(capacity), held_(plan.ranks) {
  for (const WorkClass& work : plan.classes) changes_.push_back(changes_of(plan, costs, work));
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (for_whole_run(buffer.kind)) held_[index(buffer.rank)] += costs.bytes[b];
  }
}

std::vector<MemoryRoom::Change> MemoryRoom::changes_of(const Plan& plan, const Costs& costs,
                                                       const WorkClass& work) {
  std::vector<Change> changes;
  for (const MemoryEffect& effect : work.effects) {
    const Rank rank = plan.buffers[effect.buffer].rank;
    const std::uint64_t bytes = costs.bytes[effect.buffer];
    if (bytes == 0 || index(rank) >= plan.ranks) continue;
    auto change = std::find_if(changes.begin(), changes.end(),
                               [&](const Change& one) { return one.rank == rank; });
    if (change == changes.end()) change = changes.insert(change, {.rank = rank});
    if (effect.takes) {
      change->at_start += bytes;
    } else {
      (effect.at_end ? change->at_end : change->at_start) -= bytes;
    }
  }
  return changes;
}

bool MemoryRoom::fits(std::span<const TaskId> tasks, Rank rank, std::uint64_t reserved) const {
  for (const TaskId first : tasks) {
    for (const Change& wanted : changes_[plan_.work[first]]) {
      std::uint64_t after = held(wanted.rank) + (wanted.rank == rank ? reserved : 0);
      bool takes = false;
      for (const TaskId task : tasks) {
        for (const Change& change : changes_[plan_.work[task]]) {
          if (change.rank != wanted.rank) continue;
          after += change.at_start;
          takes = takes || static_cast<std::int64_t>(change.at_start) > 0;
        }
      }
      if (takes && after > capacity_) return false;
    }
  }
  return true;
}

std::uint64_t MemoryRoom::need(TaskId task, Rank rank) const {
  for (const Change& change : changes_[plan_.work[task]]) {
    if (change.rank == rank) {
      return static_cast<std::uint64_t>(
          std::max(std::int64_t{0}, static_cast<std::int64_t>(change.at_start)));
    }
  }
  return 0;
}

void MemoryRoom::add(TaskId task, std::uint64_t Change::*when) {
  for (const Change& change : changes_[plan_.work[task]]) held_[index(change.rank)] += change.*when;
}

}  // namespace penstock
