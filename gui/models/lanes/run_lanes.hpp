#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/show/results/run_summary.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/models/tracks/track.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
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
  std::size_t bytes() const { return bytes_of_ranks(ranks); }
};

/// Ops without length are left out: a search and the list of ops have them. The timeline must
/// outlive the lanes.
RunLanes lanes_of_run(const Plan& plan, const Timeline& timeline);

/// Of a part of a run; `first` and `last`: it has the first and the last task of the run. What was
/// before and comes after it is not known to be idle time.
RunLanes lanes_of_part(const Plan& plan, const Timeline& timeline, Time makespan, bool first,
                       bool last);

/// The same, for another timeline of the plan that some lanes are of: quicker where ops keep their
/// order.
RunLanes lanes_after(const RunLanes& before, const Plan& plan, const Timeline& timeline);

/// When each link of a run's plan is occupied. Transfers of a recorded run may overlap; these stand
/// in tracks of their own. Empty where transfers occupy nothing.
std::vector<std::vector<Track>> link_lanes(const ViewedRun& run);

/// A stretch of time on some ranks of a run, in picoseconds; the ends are not part of it.
struct Area {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t first_rank = 0;
  std::uint32_t end_rank = 0;
  std::uint8_t run = 0;                // of those on an axis
  std::vector<std::uint32_t> among{};  // ascending; if there are any, only these ranks of them
  bool memory = false;                 // it is a step of what its rank holds
  bool has(std::uint32_t rank) const {
    return rank >= first_rank && rank < end_rank &&
           (among.empty() || std::binary_search(among.begin(), among.end(), rank));
  }
  /// The number of its ranks, in a run of this many.
  std::uint32_t ranks(std::uint32_t known) const {
    return among.empty() ? std::min(end_rank, known) - std::min(first_rank, known)
                         : static_cast<std::uint32_t>(among.size());
  }
  friend bool operator==(const Area&, const Area&) = default;
};

/// What the ranks of an area do during it; busy and idle time add up to its length times its ranks.
struct AreaUse {
  std::uint64_t ops = 0;  // that begin or go on in it
  WideInteger busy = 0;
  std::array<WideInteger, pass_count> by_pass{};  // overlapping halves of a cell count both
  std::array<WideInteger, idle_cause_count> by_cause{};
};
/// Ranks that the run does not have do nothing.
AreaUse use_of(const Area& area, const RunLanes& lanes, const Plan& plan);

/// The begin or end of an op of these ranks that is nearest to a moment and at most this far away.
std::optional<std::int64_t> nearest_edge(const RunLanes& lanes, std::uint32_t first_rank,
                                         std::uint32_t end_rank, std::int64_t time,
                                         std::int64_t at_most);

}  // namespace penstock
