#include "hardware_models/codecs/distribution.hpp"

#include <algorithm>

#include "sim/random.hpp"

namespace penstock {
namespace {

double draw_value(const Distribution& distribution, std::uint64_t number, std::uint32_t seed) {
  const auto words =
      philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, 0},
             {seed, 0});
  const double value = normal_quantile(uniform(std::uint64_t{words[0]} << 32 | words[1]));
  const bool tail = uniform(std::uint64_t{words[2]} << 32 | words[3]) < distribution.tail_share;
  const double scaled = tail ? value * distribution.tail_factor : value;
  return distribution.rectified ? std::max(0.0, scaled) : scaled;
}

}  // namespace

std::vector<float> draw_values(const Distribution& distribution, std::size_t count,
                               std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(draw_value(distribution, i, seed));
  }
  return values;
}

}  // namespace penstock
