#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock {

/// Cuts of a chain and the sum of a cost over its stages or boundaries.
struct LeastSum {
  double value = 0;
  std::vector<std::uint32_t> cuts;  // 0, …, size of the chain
};

/// The cuts into exactly `stages` stages with the least sum of squared stage costs, which have the
/// least variance. Takes O(stages x size x log(size)) time: the best beginning of a last stage does
/// not move back when its end moves on.
LeastSum least_squares(std::span<const double> prefix, std::uint32_t stages);

/// The cuts with the least sum of boundary costs, each stage at most `longest`; nothing when no cut
/// keeps to that.
std::optional<LeastSum> least_boundaries(std::span<const double> prefix,
                                         std::span<const double> boundary, double longest,
                                         std::uint32_t stages, bool exactly);

}  // namespace penstock
