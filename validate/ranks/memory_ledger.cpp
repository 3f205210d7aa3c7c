#include "validate/ranks/memory_ledger.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

MemoryLedger::MemoryLedger(const PricedPlan& priced, std::uint64_t capacity)
    : plan_(priced.plan),
      capacity_(static_cast<std::int64_t>(
          std::min<std::uint64_t>(capacity, std::numeric_limits<std::int64_t>::max() / 2))),
      changes_(priced.plan.classes.size()),
      first_(priced.plan.ranks) {
  const auto bytes = [&](std::uint32_t buffer) {
    return static_cast<std::int64_t>(priced.costs.bytes[buffer]);
  };
  for (std::uint32_t buffer = 0; buffer < plan_.buffers.size(); ++buffer) {
    const BufferClass& own = plan_.buffers[buffer];
    if (for_whole_run(own.kind)) first_[index(own.rank)] += bytes(buffer);
  }
  for (std::size_t work = 0; work < changes_.size(); ++work) {
    for (const MemoryEffect& effect : plan_.classes[work].effects) {
      const std::uint32_t rank = index(plan_.buffers[effect.buffer].rank);
      if (rank >= plan_.ranks || bytes(effect.buffer) == 0) continue;
      Change& change = changes_[work][rank];
      (effect.at_end ? change.at_end : change.at_start) +=
          effect.takes ? bytes(effect.buffer) : -bytes(effect.buffer);
    }
  }
  reserve_for_ends();
  clear();
}

/// A task that holds more when it has ended takes that from the start. Fused parts end in turn.
void MemoryLedger::reserve_for_ends() {
  for (std::size_t work = 0; work < changes_.size(); ++work) {
    const WorkClass& own = plan_.classes[work];
    if (own.partner != UINT32_MAX && !own.follows_partner) continue;
    for (auto& [rank, change] : changes_[work]) {
      std::int64_t first = 0;
      if (own.follows_partner) {
        const auto found = changes_[own.partner].find(rank);
        if (found != changes_[own.partner].end()) first = found->second.at_end;
      }
      const std::int64_t more = std::max({std::int64_t{0}, first, first + change.at_end});
      change.at_start += more;
      change.at_end -= more;
    }
  }
}

void MemoryLedger::start(TaskId task) {
  for (const auto& [rank, change] : changes_[plan_.work[task]]) {
    held_[rank] += change.at_start;
    later_[rank] += change.at_start + change.at_end;
  }
}

void MemoryLedger::end(TaskId task) {
  for (const auto& [rank, change] : changes_[plan_.work[task]]) held_[rank] += change.at_end;
}

bool MemoryLedger::fits(const std::vector<TaskId>& tasks) const {
  std::map<std::uint32_t, std::int64_t> sums;
  std::map<std::uint32_t, bool> takes;
  for (const TaskId task : tasks) {
    for (const auto& [where, change] : changes_[plan_.work[task]]) {
      sums[where] += change.at_start;
      takes[where] = takes[where] || change.at_start > 0;
    }
  }
  return std::all_of(sums.begin(), sums.end(), [&](const auto& sum) {
    return !takes[sum.first] || held_[sum.first] + sum.second <= capacity_;
  });
}

bool MemoryLedger::fits_later(TaskId task, std::uint32_t rank,
                              const std::vector<TaskId>& others) const {
  const std::int64_t own = taken(task, rank);
  std::int64_t sum = later_[rank] + own;
  for (const TaskId other : others) sum += taken(other, rank);
  return own <= 0 || sum <= capacity_;
}

/// What a task takes of a rank when it starts, less what it gives back then.
std::int64_t MemoryLedger::taken(TaskId task, std::uint32_t rank) const {
  const auto& changes = changes_[plan_.work[task]];
  const auto found = changes.find(rank);
  return found == changes.end() ? 0 : found->second.at_start;
}

bool MemoryLedger::is_too_full() const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](std::int64_t held) { return held > capacity_; });
}

std::vector<std::uint32_t> MemoryLedger::ranks_of(TaskId task) const {
  std::vector<std::uint32_t> ranks;
  for (const auto& change : changes_[plan_.work[task]]) ranks.push_back(change.first);
  return ranks;
}

}  // namespace penstock
