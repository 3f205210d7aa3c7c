#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "gui/models/lanes/colouring.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/models/tracks/pyramid.hpp"

namespace penstock {

/// The pyramids of the tracks of a rank.
struct RankPyramids {
  std::vector<Pyramid> compute, send, receive;
  Pyramid idle;
};

/// When a link is occupied.
struct PaintedLink {
  std::vector<Track> tracks;
  std::vector<Pyramid> pyramids;
};

/// The category of idle time in pyramids. Waiting at the ends of a rank is two pieces, which need
/// none.
constexpr std::uint8_t idle_category(std::uint32_t tag) {
  const IdleCause cause = cause_of(tag);
  const bool at_ends = cause == IdleCause::warmup || cause == IdleCause::drain;
  return at_ends ? Pyramid::left_out : static_cast<std::uint8_t>(cause);
}

/// A run with all that is needed to draw it. Never changes, so that other threads may draw it.
struct PaintedRun {
  ViewedRunPtr run;
  std::shared_ptr<const RunLanes> lanes;
  Colouring colouring;
  ColourBy by;
  std::vector<RankPyramids> pyramids;
  std::shared_ptr<const RunMemory> memory;                // nullptr: not asked for
  std::shared_ptr<const std::vector<PaintedLink>> links;  // by link; nullptr: not asked for
  // Of a run that is held against A, by task of A: -1 earlier to 1 later than in A.
  std::vector<double> differences;

  /// Of lanes and pyramids.
  std::size_t bytes() const;
};
using PaintedRunPtr = std::shared_ptr<const PaintedRun>;

/// With more than `most_steps` changes on a rank, those of each of as many stretches of time are
/// one, at their largest total. Empty if nothing is known of the memory.
RunMemory memory_of_run(const ViewedRun& run, std::size_t most_steps = 16384);

PaintedRunPtr painted(ViewedRunPtr run, ColourBy by);
/// The same as `painted`; quicker for a run of the plan of another one.
PaintedRunPtr painted_after(ViewedRunPtr run, const PaintedRun& before);
/// The same run with other colours, memory lanes, or differences to A.
PaintedRunPtr recoloured(const PaintedRun& run, ColourBy by);
PaintedRunPtr with_memory(const PaintedRun& run);
/// With the use of links, in the order of those of a plan; links that the run lacks are empty.
PaintedRunPtr with_links(const PaintedRun& run, const Plan& order);
PaintedRunPtr with_differences(const PaintedRun& run, std::vector<double> differences);

/// The mean idle share of all ranks by cause in each of some columns over a whole run.
std::vector<std::array<float, idle_cause_count>> idle_over_time(const PaintedRun& run, int columns);

}  // namespace penstock
