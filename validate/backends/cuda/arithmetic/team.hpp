#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/both.hpp"

namespace penstock {

// A team does a row together: on the GPU the lanes of a warp, or of a part of it. Each lane takes
// its share of the numbers; `sum` and `largest` give all lanes the result of all.

/// A team of one, on the host.
struct Alone {
  static constexpr std::uint32_t lanes = 1;

  PENSTOCK_BOTH std::uint32_t lane() const { return 0; }
  template <class Sum>
  PENSTOCK_BOTH Sum sum(Sum part) const {
    return part;
  }
};

/// The sum of `part(i)` for all i below `size`, neighbours by neighbouring lanes.
template <class Sum, class Team, class Part>
PENSTOCK_BOTH Sum sum_of(const Team& team, std::uint64_t size, const Part& part) {
  Sum sum = 0;
  for (std::uint64_t i = team.lane(); i < size; i += Team::lanes) sum += part(i);
  return team.sum(sum);
}

}  // namespace penstock
