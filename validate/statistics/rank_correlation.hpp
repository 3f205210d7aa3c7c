#pragma once

#include <optional>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// An item at two moments.
struct TwoMoments {
  Time a;
  Time b;
};

/// Kendall's tau-b: 1 when all pairs have the same order in both, -1 when all have the opposite
/// order; ties count for neither. Nothing when all items of one side are tied.
std::optional<double> rank_correlation(std::vector<TwoMoments> moments);

}  // namespace penstock
