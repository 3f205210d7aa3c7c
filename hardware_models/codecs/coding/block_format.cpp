#include "hardware_models/codecs/coding/block_format.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

using Values = Eigen::Map<const Eigen::ArrayXf>;
using Mantissas = Eigen::Array<std::uint32_t, Eigen::Dynamic, 1>;

/// The index of the nearest level; ties go to the even index.
std::uint32_t nearest_level(const std::vector<double>& levels, double share) {
  const auto above = std::lower_bound(levels.begin(), levels.end(), share);
  if (above == levels.begin()) return 0;
  const auto place = static_cast<std::uint32_t>(above - levels.begin());
  if (above == levels.end()) return place - 1;
  const double up = *above - share, down = share - *(above - 1);
  if (up == down) return place - place % 2;
  return up < down ? place : place - 1;
}

/// The mantissas of magnitudes given as shares of 2^(E + 1).
Mantissas mantissas_of(const BlockFormat& format, const Eigen::ArrayXd& shares) {
  if (!format.levels.empty()) {
    return shares.unaryExpr([&](double share) { return nearest_level(format.levels, share); });
  }
  const double count = format.mantissas();
  return (shares * count).rint().min(count - 1).cast<std::uint32_t>();
}

double share_of(const BlockFormat& format, std::uint32_t mantissa) {
  return format.levels.empty() ? static_cast<double>(mantissa) / format.mantissas()
                               : format.levels[mantissa];
}

}  // namespace

BlockFormat shared_format(const CodecNumbers& numbers) {
  BlockFormat format;
  format.block = numbers.whole("block");
  format.stride = numbers.whole("stride");
  format.mantissa_bits = numbers.whole("bits");
  format.exponent_bits = numbers.whole("exponent_bits");
  return format;
}

std::uint32_t value_bits(const CodecNumbers& numbers) {
  return numbers.whole("exponent_bits") + numbers.whole("block") * numbers.whole("bits");
}

std::uint32_t exponent_code(float magnitude, std::uint32_t bits) {
  if (!std::isfinite(magnitude)) return not_finite(bits);
  if (magnitude == 0) return 0;
  const int highest = static_cast<int>(not_finite(bits)) - 1;
  return static_cast<std::uint32_t>(
      std::clamp(std::ilogb(magnitude) + exponent_bias(bits), 0, highest));
}

double half_step(int exponent, std::uint32_t mantissa_bits) {
  return std::ldexp(1.0, exponent - static_cast<int>(mantissa_bits) + 1);
}

void put_values(const BlockFormat& format, std::span<const float> block, BitWriter& packed) {
  const Values values(block.data(), static_cast<Eigen::Index>(block.size()));
  const float largest =
      values.isFinite().all() ? values.abs().maxCoeff() : std::numeric_limits<float>::infinity();
  const std::uint32_t code = exponent_code(largest, format.exponent_bits);
  packed.put(code, format.exponent_bits);
  if (code == not_finite(format.exponent_bits)) {
    for (std::size_t i = 0; i < block.size(); ++i) packed.put(0, format.mantissa_bits);
    return;
  }
  const double whole = std::ldexp(1.0, exponent_of(code, format.exponent_bits) + 1);
  const Mantissas mantissas = mantissas_of(format, values.abs().cast<double>() / whole);
  const std::uint32_t sign = format.mantissas();
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    packed.put(mantissas[i] | (std::signbit(values[i]) ? sign : 0), format.mantissa_bits);
  }
}

void get_values(const BlockFormat& format, BitReader& packed, std::span<float> block) {
  const std::uint32_t code = packed.get(format.exponent_bits);
  const bool finite = code != not_finite(format.exponent_bits);
  const double whole = finite ? std::ldexp(1.0, exponent_of(code, format.exponent_bits) + 1)
                              : std::numeric_limits<double>::quiet_NaN();
  const std::uint32_t sign = format.mantissas();
  for (float& value : block) {
    const std::uint32_t bits = packed.get(format.mantissa_bits);
    const auto magnitude = static_cast<float>(share_of(format, bits % sign) * whole);
    value = bits < sign ? magnitude : -magnitude;
  }
}

}  // namespace penstock
