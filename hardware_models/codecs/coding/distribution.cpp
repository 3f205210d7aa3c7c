#include "hardware_models/codecs/coding/distribution.hpp"

#include <algorithm>
#include <array>

#include "hardware_models/codecs/coding/bits.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

constexpr std::array<NamedDistribution, 3> named{
    {{"gauss", "normal values", {}},
     {"relu", "normal values after a ReLU", {.rectified = true}},
     {"heavy-tailed",
      "normal values, one in 200 of them 30 times larger",
      {.tail_share = 0.005, .tail_factor = 30}}}};

double draw_value(const ValueDistribution& distribution, std::uint64_t number, std::uint32_t seed) {
  const auto words =
      philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, 0},
             {seed, 0});
  const double value = normal_quantile(uniform(std::uint64_t{words[0]} << 32 | words[1]));
  const bool tail = uniform(std::uint64_t{words[2]} << 32 | words[3]) < distribution.tail_share;
  const double scaled = tail ? value * distribution.tail_factor : value;
  return distribution.rectified ? std::max(0.0, scaled) : scaled;
}

}  // namespace

std::span<const NamedDistribution> named_distributions() { return named; }

std::vector<float> draw_values(const ValueDistribution& distribution, std::size_t count,
                               std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(draw_value(distribution, i, seed));
  }
  return values;
}

std::vector<float> draw_activations(const ValueDistribution& distribution, std::size_t count,
                                    std::uint32_t seed) {
  std::vector<float> values = draw_values(distribution, count, seed);
  for (float& value : values) value = from_bf16(to_bf16(value));
  return values;
}

}  // namespace penstock
