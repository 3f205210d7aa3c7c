#include "sim/report/peak_bytes.hpp"

#include <algorithm>
#include <tuple>

#include "sim/report/memory.hpp"
#include "sim/report/memory_events.hpp"

namespace penstock {
namespace {

/// What each rank holds for the whole run.
std::vector<std::uint64_t> held_throughout(const Plan& plan, const Costs& costs) {
  std::vector<std::uint64_t> held(plan.ranks);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (for_whole_run(buffer.kind)) held[index(buffer.rank)] += costs.bytes[b];
  }
  return held;
}

bool evicts(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(),
                     [](const WorkClass& work) { return work.pass == Pass::send_evicted; });
}

/// The turn of an effect of an action in the place of the action, as for `MemoryEvents`.
MemoryTurn turn_in_row(const MemoryEffect& effect) {
  if (effect.at_end) return MemoryTurn::at_end;
  return effect.takes ? MemoryTurn::at_start : MemoryTurn::at_read;
}

std::uint64_t place_of(TaskId task, MemoryTurn turn) {
  return std::uint64_t{task} * 4 + static_cast<std::uint64_t>(turn);
}

}  // namespace

PeakBytes::PeakBytes(const Plan& plan)
    : follows_rows_(plan.followers.empty() && !evicts(plan)), ranks_(plan.ranks) {
  if (!follows_rows_) return;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    add_own(plan, task);
    add_moved(plan, task);
  }
}

void PeakBytes::add_own(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  for (const MemoryTurn turn : {MemoryTurn::at_read, MemoryTurn::at_start, MemoryTurn::at_end}) {
    for (const MemoryEffect& effect : work.effects) {
      if (turn_in_row(effect) != turn) continue;
      ranks_[work.resource].own.push_back(
          {place_of(task, turn), task, effect.buffer, effect.at_end, effect.takes});
    }
  }
}

void PeakBytes::add_moved(const Plan& plan, TaskId task) {
  plan.for_each_input(task, [&](TaskId transfer) {
    for (const MemoryEffect& effect : plan.class_of(transfer).effects) {
      if (!plan.is_link(plan.class_of(transfer).resource)) continue;
      ranks_[index(plan.buffers[effect.buffer].rank)].moved.push_back(
          {place_of(task, MemoryTurn::arrival), transfer, effect.buffer, effect.at_end,
           effect.takes});
    }
  });
}

void PeakBytes::list_moved(const Rank& rank, const Costs& costs, const Timeline& timeline) {
  moved_.clear();
  for (const Event& event : rank.moved) {
    const std::uint64_t bytes = costs.bytes[event.buffer];
    if (bytes == 0) continue;
    moved_.push_back({event.at_end ? timeline.end[event.task] : timeline.begin[event.task],
                      event.place, event.takes ? bytes : 0 - bytes});
  }
  const auto before = [](const TimedEvent& a, const TimedEvent& b) {
    return std::tie(a.time, a.place) < std::tie(b.time, b.place);
  };
  if (!std::is_sorted(moved_.begin(), moved_.end(), before)) {
    std::stable_sort(moved_.begin(), moved_.end(), before);
  }
}

std::uint64_t PeakBytes::peak_of(const Rank& rank, std::uint64_t held, const Costs& costs,
                                 const Timeline& timeline) {
  list_moved(rank, costs, timeline);
  std::uint64_t peak = held;
  const auto add = [&](std::uint64_t change, bool takes) {
    // Unsigned arithmetic: a buffer given back in the moment it came may pass through zero.
    held += change;
    if (takes) peak = std::max(peak, held);
  };
  auto moved = moved_.begin();
  const auto add_moved_until = [&](Time time, std::uint64_t place) {
    for (; moved != moved_.end() && std::tie(moved->time, moved->place) <= std::tie(time, place);
         ++moved) {
      add(moved->change, true);
    }
  };
  for (const Event& event : rank.own) {
    const std::uint64_t bytes = costs.bytes[event.buffer];
    if (bytes == 0) continue;
    add_moved_until(event.at_end ? timeline.end[event.task] : timeline.begin[event.task],
                    event.place);
    add(event.takes ? bytes : 0 - bytes, event.takes);
  }
  add_moved_until(max_time, UINT64_MAX);
  return peak;
}

std::vector<std::uint64_t> PeakBytes::of(const Plan& plan, const Costs& costs,
                                         const Timeline& timeline) {
  std::vector<std::uint64_t> peaks = held_throughout(plan, costs);
  if (follows_rows_) {
    for (std::size_t r = 0; r < peaks.size(); ++r) {
      peaks[r] = peak_of(ranks_[r], peaks[r], costs, timeline);
    }
    return peaks;
  }
  const std::vector<MemoryPeak> all = memory_peaks(plan, costs, timeline);
  std::transform(all.begin(), all.end(), peaks.begin(),
                 [](const MemoryPeak& peak) { return peak.bytes; });
  return peaks;
}

}  // namespace penstock
