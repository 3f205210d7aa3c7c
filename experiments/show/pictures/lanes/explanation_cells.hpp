#pragma once

#include <cstdint>
#include <vector>

#include "experiments/show/pictures/lanes/timeline_cells.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

/// Inserts idle gaps, given in any order, between the cells of the lanes: one cell for each cause
/// of a gap, in chronological order. Throws InputError for a gap of a rank without a lane.
void add_idle(std::vector<Lane>& lanes, const std::vector<IdleGap>& gaps);

/// A span of the critical path on one rank.
struct PathBox {
  std::uint32_t rank;
  Time begin;
  Time end;
  friend bool operator==(const PathBox&, const PathBox&) = default;
};

/// The actions of a critical path, first to last, without transfers and zero-length actions.
/// Actions shorter than `shortest` merge with their neighbours on the same rank. Throws InputError
/// for the path of another plan.
std::vector<PathBox> path_boxes(const Plan& plan, const Timeline& timeline,
                                const std::vector<TaskId>& path, Time shortest);

}  // namespace penstock
