#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace penstock {

/// How activations are distributed: normal, some of them so many times as large, and perhaps behind
/// a ReLU.
struct ValueDistribution {
  double tail_share = 0;  // of the values that are larger
  double tail_factor = 30;
  bool rectified = false;  // what is negative is 0
};

/// One that goes by a name.
struct NamedDistribution {
  std::string_view name;
  std::string_view summary;
  ValueDistribution values;
};

/// "gauss", "relu" and "heavy-tailed", on which codecs are tried.
std::span<const NamedDistribution> named_distributions();

/// Independent values, the same on every machine; other seeds give others.
std::vector<float> draw_values(const ValueDistribution& distribution, std::size_t count,
                               std::uint32_t seed);

/// Values as activations are stored: drawn, and rounded to bf16.
std::vector<float> draw_activations(const ValueDistribution& distribution, std::size_t count,
                                    std::uint32_t seed = 1);

}  // namespace penstock
