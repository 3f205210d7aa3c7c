#pragma once

#include <cstdint>

#include "validate/backends/cuda/arithmetic/both.hpp"

namespace penstock {

// Block floating point as in hardware_models/codecs: 16 values share an 8-bit exponent, then follow
// sign and mantissa of each, least significant bit first. A packed block is whole bytes. All is
// integer arithmetic on bf16 bits, so host and GPU give the same bytes.

constexpr std::uint32_t block_values = 16;
constexpr std::uint32_t most_block_bits = 8;  // per value
constexpr std::uint32_t code_of_not_finite = 255;
constexpr std::uint16_t bf16_not_a_number = 0x7FC0;

/// Bytes of a packed block.
PENSTOCK_BOTH constexpr std::uint32_t packed_bytes(std::uint32_t bits) { return 1 + 2 * bits; }

/// The shared exponent of a block: that of its largest magnitude. Biased exponents order
/// magnitudes, and that of an infinity or a NaN is 255.
PENSTOCK_BOTH std::uint32_t block_code(const std::uint16_t* values) {
  std::uint32_t code = 0;
  PENSTOCK_UNROLLED
  for (std::uint32_t i = 0; i < block_values; ++i) {
    const std::uint32_t own = values[i] >> 7 & 0xFFU;
    code = own > code ? own : code;
  }
  return code;
}

/// Sign and mantissa of a value: its share of 2^(exponent + 1), rounded half to even.
PENSTOCK_BOTH std::uint32_t block_mantissa(std::uint16_t value, std::uint32_t code,
                                           std::uint32_t bits) {
  const std::uint32_t count = 1U << (bits - 1);
  const std::uint32_t sign = (value >> 15) * count;
  const std::uint32_t exponent = value >> 7 & 0xFFU;
  const std::uint32_t fraction = value & 0x7FU;
  // The magnitude is `whole` * 2^(lifted - 134); a mantissa counts steps of 2^(code - 125 - bits).
  const std::uint32_t whole = exponent == 0 ? fraction : fraction | 0x80U;
  const std::uint32_t lifted = exponent == 0 ? 1 : exponent;
  const std::uint32_t down = code + 9 - bits - lifted;  // from 0: bits are at most 8
  if (down > 8) return sign;                            // below half a step
  const std::uint32_t rest = whole & ((1U << down) - 1);
  const std::uint32_t half = 1U << down >> 1;
  std::uint32_t mantissa = whole >> down;
  if (rest > half || (down > 0 && rest == half && (mantissa & 1U) != 0)) ++mantissa;
  return sign | (mantissa < count ? mantissa : count - 1);
}

/// The bf16 value of sign and mantissa: exact.
PENSTOCK_BOTH std::uint16_t block_value(std::uint32_t bits_of_value, std::uint32_t code,
                                        std::uint32_t bits) {
  const std::uint32_t count = 1U << (bits - 1);
  if (code == code_of_not_finite) return bf16_not_a_number;
  const auto sign = static_cast<std::uint16_t>(bits_of_value >= count ? 0x8000U : 0U);
  std::uint32_t whole = bits_of_value % count;
  if (whole == 0) return sign;
  // whole * 2^(code - 125 - bits) = fraction * 2^(exponent - 134) with the fraction's top bit set,
  // or with the lowest exponent.
  std::uint32_t exponent = code + 9 - bits;  // from 1: bits are at most 8
  const std::uint32_t room = leading_zeros(whole) - 24;
  const std::uint32_t up = room < exponent ? room : exponent - 1;
  whole <<= up;
  exponent -= up;
  const std::uint32_t biased = whole < 0x80U ? 0U : exponent;
  return static_cast<std::uint16_t>(sign | biased << 7 | (whole & 0x7FU));
}

/// Packs a block into `packed_bytes` bytes.
PENSTOCK_BOTH void pack_block(const std::uint16_t* values, std::uint32_t bits,
                              std::uint8_t* packed) {
  const std::uint32_t code = block_code(values);
  packed[0] = static_cast<std::uint8_t>(code);
  std::uint32_t open = 0;
  std::uint32_t open_bits = 0;
  std::uint32_t at = 1;
  PENSTOCK_UNROLLED
  for (std::uint32_t i = 0; i < block_values; ++i) {
    const bool finite = code != code_of_not_finite;
    open |= (finite ? block_mantissa(values[i], code, bits) : 0U) << open_bits;
    open_bits += bits;
    PENSTOCK_UNROLLED
    for (; open_bits >= 8; open_bits -= 8) {
      packed[at++] = static_cast<std::uint8_t>(open);
      open >>= 8;
    }
  }
}

/// Unpacks a block.
PENSTOCK_BOTH void unpack_block(const std::uint8_t* packed, std::uint32_t bits,
                                std::uint16_t* values) {
  const std::uint32_t code = packed[0];
  std::uint32_t open = 0;
  std::uint32_t open_bits = 0;
  std::uint32_t at = 1;
  PENSTOCK_UNROLLED
  for (std::uint32_t i = 0; i < block_values; ++i) {
    if (open_bits < bits) {
      open |= static_cast<std::uint32_t>(packed[at++]) << open_bits;
      open_bits += 8;
    }
    values[i] = block_value(open & ((1U << bits) - 1), code, bits);
    open >>= bits;
    open_bits -= bits;
  }
}

}  // namespace penstock
