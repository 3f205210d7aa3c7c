#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

/// How activations are distributed: normal, some of them so many times as large, and perhaps behind
/// a ReLU.
struct Distribution {
  double tail_share = 0;  // of the values that are larger
  double tail_factor = 1;
  bool rectified = false;  // what is negative is 0
};

/// Independent values, the same on every machine; other seeds give others.
std::vector<float> draw_values(const Distribution& distribution, std::size_t count,
                               std::uint32_t seed);

}  // namespace penstock
