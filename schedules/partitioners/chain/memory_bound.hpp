#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "schedules/partitioners/chain/bottleneck.hpp"

namespace penstock {

/// A cost of the layers [begin, end) as stage `stage`.
using StageCost =
    std::function<double(std::uint32_t begin, std::uint32_t end, std::uint32_t stage)>;

/// The cuts into exactly `stages` stages whose dearest stage is cheapest, where the cost of a stage
/// depends on its number and every stage keeps `limited` within `limit`. Nothing when no cut does.
/// A stage of fewer layers may not be possible without another of more, so a probe follows all
/// positions that each number of stages reaches. Neither cost may fall when a stage grows.
std::optional<Bottleneck> least_by_stage(std::uint32_t size, std::uint32_t stages,
                                         const StageCost& cost, const StageCost& limited,
                                         double limit);

/// The same for any costs, such as those with boundaries, in time O(stages x size^2). With
/// `at_most`, fewer stages are allowed: a stage's number then counts from the first.
std::optional<Bottleneck> least_by_any_stage(std::uint32_t size, std::uint32_t stages,
                                             const StageCost& cost, const StageCost& limited,
                                             double limit, bool at_most = false);

}  // namespace penstock
