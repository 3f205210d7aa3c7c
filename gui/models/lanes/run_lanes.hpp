#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/tracks/idle_tag.hpp"
#include "gui/models/tracks/track.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

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

/// The rank in whose lanes a task stands: a transfer with its sender.
std::uint32_t rank_of_task(const Plan& plan, TaskId task);

/// Ops without length are left out. The timeline must outlive the lanes.
RunLanes lanes_of_run(const Plan& plan, const Timeline& timeline);

/// The same, for another timeline of the plan that some lanes are of: quicker where ops keep their
/// order.
RunLanes lanes_after(const RunLanes& before, const Plan& plan, const Timeline& timeline);

}  // namespace penstock
