#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace penstock {

/// The upper half of a float, rounded half to even. Finite values stay finite; NaNs stay NaNs.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool overflows = std::isfinite(value) && (rounded & 0x7FFFU) == 0x7F80U;
  return static_cast<std::uint16_t>(overflows ? rounded - 1 : rounded);
}

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace penstock
