#pragma once

#include <optional>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// The same thing at two moments.
struct TwoMoments {
  Time a;
  Time b;
};

/// Kendall's tau-b: 1 where all pairs of things come in the same order in both, -1 where all come
/// in the opposite one; pairs at one moment count for neither. Nothing where all things of one side
/// are at one moment.
std::optional<double> rank_correlation(std::vector<TwoMoments> moments);

}  // namespace penstock
