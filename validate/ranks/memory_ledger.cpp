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
      if (effect.takes) {
        change.at_start += bytes(effect.buffer);
      } else {
        (effect.at_end ? change.at_end : change.at_start) -= bytes(effect.buffer);
      }
    }
  }
  clear();
}

void MemoryLedger::book(TaskId task, std::int64_t Change::*when) {
  for (const auto& [rank, change] : changes_[plan_.work[task]]) held_[rank] += change.*when;
}

bool MemoryLedger::fits(const std::vector<TaskId>& tasks, std::uint32_t rank,
                        std::int64_t reserved) const {
  std::map<std::uint32_t, std::int64_t> sums;
  std::map<std::uint32_t, bool> takes;
  for (const TaskId task : tasks) {
    for (const auto& [where, change] : changes_[plan_.work[task]]) {
      sums[where] += change.at_start;
      takes[where] = takes[where] || change.at_start > 0;
    }
  }
  return std::all_of(sums.begin(), sums.end(), [&](const auto& sum) {
    const std::int64_t after = held_[sum.first] + sum.second + (sum.first == rank ? reserved : 0);
    return !takes[sum.first] || after <= capacity_;
  });
}

std::int64_t MemoryLedger::need(TaskId task, std::uint32_t rank) const {
  const auto& changes = changes_[plan_.work[task]];
  const auto found = changes.find(rank);
  return found == changes.end() ? 0 : std::max(std::int64_t{0}, found->second.at_start);
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
