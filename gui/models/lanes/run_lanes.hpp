#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/lanes/track.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle_cause.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Idle time of one cause, and the op behind it.
constexpr std::uint32_t no_next = 0x1fff'ffffU;
constexpr std::uint32_t idle_tag(IdleCause cause, TaskId next) {
  return static_cast<std::uint32_t>(cause) << 29 | (next < no_next ? next : no_next);
}
constexpr IdleCause cause_of(std::uint32_t tag) { return static_cast<IdleCause>(tag >> 29); }
constexpr TaskId next_of(std::uint32_t tag) {
  return (tag & no_next) == no_next ? no_task : tag & no_next;
}

/// What a rank does over time. Ops that overlap stand in tracks of their own, so each kind may have
/// several.
struct RankTracks {
  std::vector<Track> compute;
  std::vector<Track> send;
  std::vector<Track> receive;
  Track idle;  // pieces of one cause each
};

/// A run by ranks: what the canvas draws and what a hand can point at.
struct RunLanes {
  std::vector<RankTracks> ranks;
  std::int64_t span = 0;  // the makespan in picoseconds
  std::uint64_t ops = 0;  // with any length
  std::size_t bytes() const;
};

/// Ops without length are left out. The timeline must outlive the lanes.
RunLanes lanes_of_run(const Plan& plan, const Timeline& timeline);

/// The same, for another timeline of the plan that some lanes are of: quicker where ops keep their
/// order.
RunLanes lanes_after(const RunLanes& before, const Plan& plan, const Timeline& timeline);

}  // namespace penstock
