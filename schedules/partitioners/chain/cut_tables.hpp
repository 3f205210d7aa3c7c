#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

/// The cuts into exactly `stages` stages with the least sum of squared stage costs, which have the
/// least variance. Takes O(stages x size x log(size)) time: the best beginning of a last stage does
/// not move back when its end moves on.
ChainCuts least_squares(std::span<const double> prefix, std::uint32_t stages);

/// The cuts with the least sum of boundary costs, each stage at most `longest`; nothing when no cut
/// keeps to that.
std::optional<ChainCuts> least_boundaries(std::span<const double> prefix,
                                          std::span<const double> boundary, double longest,
                                          std::uint32_t stages, bool exactly);

/// A cost of the layers [begin, end) as stage `stage`.
using StageCost =
    std::function<double(std::uint32_t begin, std::uint32_t end, std::uint32_t stage)>;

/// The cuts into exactly `stages` stages whose dearest stage is cheapest, where the cost of a stage
/// depends on its number and every stage keeps `limited` within `limit`. Nothing when no cut does.
/// A stage of fewer layers may not be possible without another of more, so a probe follows all
/// positions that each number of stages reaches. Neither cost may fall when a stage grows.
std::optional<ChainCuts> least_by_stage(std::uint32_t size, std::uint32_t stages,
                                        const StageCost& cost, const StageCost& limited,
                                        double limit);

/// The same for the memory of stages, without a limit.
ChainCuts least_memory(const CutProblem& problem, const CutChain& chain, std::uint32_t stages);

/// The same for any costs, such as those with boundaries, in time O(stages x size^2).
std::optional<ChainCuts> least_by_any_stage(std::uint32_t size, std::uint32_t stages,
                                            const StageCost& cost, const StageCost& limited,
                                            double limit);

}  // namespace penstock
