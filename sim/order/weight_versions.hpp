#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// Weight versions of one stage on one rank in an order.
struct WeightVersions {
  std::uint32_t versions = 1;   // most versions alive at once
  std::uint32_t staleness = 0;  // most updates between a microbatch's version and its own update
};

/// By slot of the placement, from the order of U among F and B and from `Schedule::weights`. A
/// version is alive while it is the newest, and until its last microbatch has ended its backward.
/// The own update of a microbatch is the first U of its stage after its B or W.
std::vector<WeightVersions> weight_versions(const Schedule& schedule, const Placement& placement);

/// The maximum of both over the stages of each rank, by rank.
std::vector<WeightVersions> weight_versions_by_rank(const Schedule& schedule,
                                                    const Placement& placement);

}  // namespace penstock
