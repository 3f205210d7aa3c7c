#pragma once

#include <cmath>
#include <cstdint>

#include "validate/backends/cuda/arithmetic/pack.hpp"

namespace penstock {

/// GELU, x times the normal distribution function, and its derivative.
template <class Sum>
PENSTOCK_BOTH Sum normal_share(Sum x) {
  constexpr Sum root_of_half = static_cast<Sum>(0.70710678118654752440);
  return static_cast<Sum>(0.5) + static_cast<Sum>(0.5) * std::erf(x * root_of_half);
}
template <class Sum>
PENSTOCK_BOTH Sum gelu_of(Sum x) {
  return x * normal_share(x);
}
template <class Sum>
PENSTOCK_BOTH Sum gelu_slope_of(Sum x) {
  constexpr Sum density_at_zero = static_cast<Sum>(0.39894228040143267794);
  return normal_share(x) + x * density_at_zero * std::exp(static_cast<Sum>(-0.5) * x * x);
}

template <class Sum>
PENSTOCK_BOTH Sum sigmoid_of(Sum x) {
  return 1 / (1 + std::exp(-x));
}
/// x times its sigmoid, and the derivative.
template <class Sum>
PENSTOCK_BOTH Sum swish_of(Sum x) {
  return x * sigmoid_of(x);
}
template <class Sum>
PENSTOCK_BOTH Sum swish_slope_of(Sum x) {
  const Sum share = sigmoid_of(x);
  return share * (1 + x * (1 - share));
}

/// F, an element per result. GELU of a column of `inner` numbers; or, gated, SwiGLU of twice as
/// many, the first half of which is the gate.
template <class Number>
struct Activation {
  static constexpr unsigned lanes = 0;

  std::uint64_t count;
  std::uint32_t inner;
  bool gated;
  const Number* wide;
  Number* out;

  PENSTOCK_BOTH bool in_packs() const { return inner % pack_size == 0; }
  template <unsigned size = 1>
  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t first = gated ? i + i / inner * inner : i;
    Pack<Number, size> own(wide + first);
    Pack<Number, size> other;
    if (gated) other = Pack<Number, size>(wide + first + inner);
    PENSTOCK_UNROLLED
    for (unsigned k = 0; k < size; ++k) {
      const auto x = own.values[k];
      own.values[k] = gated ? swish_of(x) * other.values[k] : gelu_of(x);
    }
    own.write(out + i);
  }
};

/// I, an element per result of F.
template <class Number>
struct ActivationGradient {
  static constexpr unsigned lanes = 0;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint32_t inner;
  bool gated;
  const Number* wide;
  const Number* out_gradient;
  Number* wide_gradient;

  PENSTOCK_BOTH bool in_packs() const { return inner % pack_size == 0; }
  template <unsigned size = 1>
  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const std::uint64_t first = gated ? i + i / inner * inner : i;
    const Pack<Number, size> gradient(out_gradient + i);
    Pack<Number, size> own(wide + first);
    if (!gated) {
      PENSTOCK_UNROLLED
      for (unsigned k = 0; k < size; ++k) {
        own.values[k] = gelu_slope_of(own.values[k]) * gradient.values[k];
      }
      return own.write(wide_gradient + first);
    }
    Pack<Number, size> other(wide + first + inner);
    PENSTOCK_UNROLLED
    for (unsigned k = 0; k < size; ++k) {
      const Sum x = own.values[k];
      own.values[k] = swish_slope_of(x) * other.values[k] * gradient.values[k];
      other.values[k] = swish_of(x) * gradient.values[k];
    }
    own.write(wide_gradient + first);
    other.write(wide_gradient + first + inner);
  }
};

}  // namespace penstock
