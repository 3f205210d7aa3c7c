#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "validate/backends/cuda/arithmetic/both.hpp"

namespace penstock {

/// The upper half of a float. The GPU's layers are in these; tests run the same code in doubles.
struct Bf16 {
  std::uint16_t bits;
};

/// In what numbers are added up.
template <class Number>
using SumOf = std::conditional_t<std::is_same_v<Number, double>, double, float>;

PENSTOCK_BOTH float value_of(Bf16 number) {
  const std::uint32_t bits = std::uint32_t{number.bits} << 16;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}
PENSTOCK_BOTH float value_of(float number) { return number; }
PENSTOCK_BOTH double value_of(double number) { return number; }

/// Half to even; a NaN stays one.
PENSTOCK_BOTH Bf16 bf16_of(float value) {
#ifdef __CUDA_ARCH__
  Bf16 number;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(number.bits) : "f"(value));
  return number;
#else
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
#endif
}

/// A sum as a number, rounded where that is shorter.
template <class Number>
PENSTOCK_BOTH Number rounded(SumOf<Number> sum) {
  if constexpr (std::is_same_v<Number, Bf16>) {
    return bf16_of(sum);
  } else {
    return sum;
  }
}

}  // namespace penstock
