#include "hardware_models/codecs/reference/codec_error.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "hardware_models/codecs/coding/shared_exponent.hpp"

namespace penstock {
namespace {

using Values = Eigen::Map<const Eigen::ArrayXf>;

/// The largest error in half steps of its block (from the packed exponent).
double most_half_steps(const Codec& codec, std::span<const std::uint8_t> packed,
                       const Eigen::ArrayXd& error) {
  const auto count = static_cast<std::size_t>(error.size());
  const BlockOrder order(codec.format, count);
  BitReader reader(packed);
  double most = 0;
  for (std::size_t b = 0; b < order.blocks(); ++b) {
    reader.seek(std::uint64_t{b} * codec.block_bits);
    const int exponent =
        exponent_of(reader.get(codec.format.exponent_bits), codec.format.exponent_bits);
    const double unit = half_step(exponent, codec.format.mantissa_bits);
    for (std::size_t i = 0; i < codec.format.block; ++i) {
      const std::size_t position = order.position(b, i);
      if (position >= count) break;
      most = std::max(most, error[static_cast<Eigen::Index>(position)] / unit);
    }
  }
  return most;
}

}  // namespace

CodecError codec_error(const Codec& codec, std::span<const float> values) {
  const std::vector<std::uint8_t> packed = encode(codec, values);
  const std::vector<float> decoded = decode(codec, packed, values.size());
  const auto size = static_cast<Eigen::Index>(values.size());
  const Values before(values.data(), size), after(decoded.data(), size);
  const Eigen::ArrayXd error = (before.cast<double>() - after.cast<double>()).abs();
  const auto values_there = static_cast<double>((before != 0).count());
  const auto flushed = static_cast<double>((before != 0 && after == 0).count());
  return {.sqnr_db = 10 * std::log10(before.cast<double>().square().sum() / error.square().sum()),
          .most_half_steps = most_half_steps(codec, packed, error),
          .flushed_share = values_there == 0 ? 0 : flushed / values_there};
}

}  // namespace penstock
