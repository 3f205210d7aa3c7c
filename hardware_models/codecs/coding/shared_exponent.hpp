#pragma once

#include <cstdint>
#include <span>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"

namespace penstock {

/// The bias is half the range, as in floats. The highest code is reserved: it marks a block with an
/// infinity or a NaN and decodes to NaNs.
constexpr int exponent_bias(std::uint32_t bits) { return (1 << (bits - 1)) - 1; }
constexpr std::uint32_t not_finite(std::uint32_t bits) { return (std::uint32_t{1} << bits) - 1; }

/// The code nearest to the exponent of a magnitude: floor(log2(magnitude)).
std::uint32_t exponent_code(float magnitude, std::uint32_t bits);
constexpr int exponent_of(std::uint32_t code, std::uint32_t bits) {
  return static_cast<int>(code) - exponent_bias(bits);
}

/// Half the distance between evenly spaced mantissas: 2^(E - w + 1). The largest error of a finite
/// value in a block with the exponent of its largest value. Values clamped to the highest mantissa
/// are off by up to twice as much.
double half_step(int exponent, std::uint32_t mantissa_bits);

/// Packs the exponent of the largest magnitude, then sign and mantissa of each value. Mantissas are
/// rounded half to even and clamped to the highest one.
void put_values(const BlockFormat& format, std::span<const float> block, BitWriter& packed);

/// Unpacks a block. Zeros keep their signs.
void get_values(const BlockFormat& format, BitReader& packed, std::span<float> block);

/// Bits of a packed block.
constexpr std::uint32_t value_bits(std::uint32_t block, std::uint32_t mantissa_bits,
                                   std::uint32_t exponent_bits) {
  return exponent_bits + block * mantissa_bits;
}

}  // namespace penstock
