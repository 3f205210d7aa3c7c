#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gui/models/lanes/run_lanes.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// A stretch of time on some ranks of a run, in picoseconds; the ends are not part of it.
struct Area {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t first_rank = 0;
  std::uint32_t end_rank = 0;
  std::uint8_t run = 0;  // of those on an axis
  friend bool operator==(const Area&, const Area&) = default;
};

/// What the ranks of an area do during it; busy and idle time add up to its length times its ranks.
struct AreaUse {
  std::uint64_t ops = 0;  // that begin or go on in it
  std::int64_t busy = 0;
  std::array<std::int64_t, pass_count> by_pass{};  // overlapping halves of a cell count both
  std::array<std::int64_t, idle_cause_count> by_cause{};
};
/// Ranks that the run does not have do nothing.
AreaUse use_of(const Area& area, const RunLanes& lanes, const Plan& plan);

/// The begin or end of an op of these ranks that is nearest to a moment and at most this far away.
std::optional<std::int64_t> nearest_edge(const RunLanes& lanes, std::uint32_t first_rank,
                                         std::uint32_t end_rank, std::int64_t time,
                                         std::int64_t at_most);

}  // namespace penstock
