#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What the weights of one stage on one rank go through in an order.
struct WeightVersions {
  std::uint32_t versions = 1;   // most that are alive at once
  std::uint32_t staleness = 0;  // most updates between the version a microbatch used and its own
};

/// By slot of the placement, from the order of U among F and B and from `Schedule::weights`. A
/// version is alive while it is the newest, and until the last microbatch that uses it has ended
/// its backward. The own update of a microbatch is the first U of its stage after its B or W.
std::vector<WeightVersions> weight_versions(const Schedule& schedule, const Placement& placement);

/// The most of both over the stages of each rank, by rank.
std::vector<WeightVersions> weight_versions_by_rank(const Schedule& schedule,
                                                    const Placement& placement);

}  // namespace penstock
