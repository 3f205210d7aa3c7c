#pragma once

#include <cstdint>
#include <span>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"

namespace penstock {

/// Exponents of some width are biased as those of floats are, by half their range. The highest code
/// names no exponent: it marks a block that holds an infinity or a NaN, and reads as NaNs.
constexpr int exponent_bias(std::uint32_t bits) { return (1 << (bits - 1)) - 1; }
constexpr std::uint32_t not_finite(std::uint32_t bits) { return (std::uint32_t{1} << bits) - 1; }

/// The code of the exponent that a magnitude has, the nearest there is: floor(log2(magnitude)).
std::uint32_t exponent_code(float magnitude, std::uint32_t bits);
constexpr int exponent_of(std::uint32_t code, std::uint32_t bits) {
  return static_cast<int>(code) - exponent_bias(bits);
}

/// Half the distance of evenly spaced mantissas: 2^(E - w + 1). No finite value of a block whose
/// exponent is that of its largest comes back further off, but for those that the highest mantissa
/// stands for: these up to twice as far.
double half_step(int exponent, std::uint32_t mantissa_bits);

/// Writes the exponent of the largest magnitude, then for each value its sign and, rounded half to
/// even, its mantissa; what lies above the highest mantissa takes that one.
void put_values(const BlockFormat& format, std::span<const float> block, BitWriter& packed);

/// Reads them back. Zeros keep their signs.
void get_values(const BlockFormat& format, BitReader& packed, std::span<float> block);

/// The bits of both.
constexpr std::uint32_t value_bits(std::uint32_t block, std::uint32_t mantissa_bits,
                                   std::uint32_t exponent_bits) {
  return exponent_bits + block * mantissa_bits;
}

}  // namespace penstock
