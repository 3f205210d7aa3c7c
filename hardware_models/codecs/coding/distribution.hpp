#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace penstock {

/// Distribution of activations: normal, optionally with a heavy tail, optionally after a ReLU.
struct ValueDistribution {
  double tail_share = 0;  // share of larger values
  double tail_factor = 30;
  bool rectified = false;  // negative values become 0
};

/// A distribution with a name.
struct NamedDistribution {
  std::string_view name;
  std::string_view summary;
  ValueDistribution values;
};

/// "gauss", "relu" and "heavy-tailed", the test distributions of codecs.
std::span<const NamedDistribution> named_distributions();

/// Independent values, the same on every machine for the same seed.
std::vector<float> draw_values(const ValueDistribution& distribution, std::size_t count,
                               std::uint32_t seed);

/// Values as activations are stored: drawn and rounded to bf16.
std::vector<float> draw_activations(const ValueDistribution& distribution, std::size_t count,
                                    std::uint32_t seed = 1);

}  // namespace penstock
