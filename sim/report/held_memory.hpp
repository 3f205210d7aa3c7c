#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/memory_events.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

using HeldBytes = std::array<std::uint64_t, buffer_kinds>;  // indexed by BufferKind

/// Memory that each rank holds for the whole run, by kind.
inline std::vector<HeldBytes> bytes_for_whole_run(const Plan& plan, const Costs& costs) {
  std::vector<HeldBytes> bytes(plan.ranks);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (!for_whole_run(buffer.kind)) continue;
    bytes[index(buffer.rank)][static_cast<std::size_t>(buffer.kind)] += costs.bytes[b];
  }
  return bytes;
}

/// The memory of a rank after an event; at the start of the run there is none.
struct Holding {
  std::uint64_t bytes = 0;
  HeldBytes by_kind{};
  Time time{};
  TaskId task = no_task;  // the task of the event
  bool takes = true;
};

/// Calls `visit(rank, holding)` with what each rank holds at the start and after each of its
/// events. A rank may start again: what was visited of it before is void.
template <class Visitor>
void for_each_holding(const Plan& plan, const Costs& costs, const Timeline& timeline,
                      Visitor visit) {
  std::vector<Holding> holdings(plan.ranks);
  const std::vector<HeldBytes> whole_run = bytes_for_whole_run(plan, costs);
  const auto start = [&](std::uint32_t rank) {
    Holding& holding = holdings[rank] = {.by_kind = whole_run[rank]};
    holding.bytes =
        std::accumulate(holding.by_kind.begin(), holding.by_kind.end(), std::uint64_t{0});
    visit(rank, std::as_const(holding));
  };
  MemoryEvents(plan, timeline, costs.bytes)
      .for_each(start, [&](std::uint32_t rank, Time time, TaskId task, const RankEffect& effect) {
        Holding& holding = holdings[rank];
        // Unsigned arithmetic: a buffer given back in the moment it came may pass through zero.
        holding.bytes += effect.change;
        holding.by_kind[static_cast<std::size_t>(effect.kind)] += effect.change;
        holding.time = time;
        holding.task = task;
        holding.takes = effect.takes;
        visit(rank, std::as_const(holding));
      });
}

}  // namespace penstock
