#include "sim/timeline/peak_bytes.hpp"

#include <algorithm>
#include <tuple>

#include "sim/timeline/memory_events.hpp"

namespace penstock {

std::vector<std::uint64_t> peak_bytes(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline) {
  std::vector<std::uint64_t> held(plan.ranks), peak(plan.ranks);
  const std::vector<HeldBytes> whole_run = bytes_for_whole_run(plan, costs);
  const auto start = [&](std::uint32_t rank) { held[rank] = peak[rank] = sum_of(whole_run[rank]); };
  MemoryEvents(plan, timeline, costs.bytes)
      .for_each(start, [&](std::uint32_t rank, Time, TaskId, const RankEffect& effect) {
        held[rank] += effect.change;
        if (effect.takes) peak[rank] = std::max(peak[rank], held[rank]);
      });
  return peak;
}

PeakBytes::PeakBytes(const Plan& plan)
    : follows_rows_(plan.followers.empty() && !evicts(plan)), ranks_(plan.ranks) {
  if (!follows_rows_) return;
  // Every buffer may weigh something under some costs.
  const RankEffects effects(plan, std::vector<std::uint64_t>(plan.buffers.size(), 1));
  const CountingActions counting(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const RankEffects::OfClass& work = effects.of_class(plan.work[task]);
    if (work.is_link) continue;
    for (const RankEffect& effect : effects.of(work)) {
      ranks_[work.resource].own.push_back(
          {place_of(task, effect.turn), task, effect.buffer, effect.at_end(), effect.takes});
    }
    plan.for_each_input(task, [&](TaskId input) {
      const RankEffects::OfClass& moves = effects.of_class(plan.work[input]);
      if (!moves.is_link || !counting.counts(input, task)) return;
      for (const RankEffect& effect : effects.of(moves)) {
        ranks_[effect.rank].moved.push_back({place_of(task, MemoryTurn::arrival), input,
                                             effect.buffer, effect.at_end(), effect.takes});
      }
    });
  }
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
  if (!std::ranges::is_sorted(moved_, before)) {
    std::ranges::stable_sort(moved_, before);
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
  if (!follows_rows_) return peak_bytes(plan, costs, timeline);
  const std::vector<HeldBytes> whole_run = bytes_for_whole_run(plan, costs);
  std::vector<std::uint64_t> peaks;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    peaks.push_back(peak_of(ranks_[r], sum_of(whole_run[r]), costs, timeline));
  }
  return peaks;
}

}  // namespace penstock
