#pragma once

#include <cmath>
#include <cstdint>

#include "validate/backends/cuda/arithmetic/number.hpp"

namespace penstock {

/// GELU, x times the normal distribution function, and its derivative.
template <class Sum>
PENSTOCK_BOTH Sum normal_share(Sum x) {
  constexpr Sum root_of_half = static_cast<Sum>(0.70710678118654752440);
  return static_cast<Sum>(0.5) * std::erfc(-x * root_of_half);
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

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    if (!gated) {
      out[i] = rounded<Number>(gelu_of(value_of(wide[i])));
      return;
    }
    const std::uint64_t gate = i + i / inner * inner;
    out[i] = rounded<Number>(swish_of(value_of(wide[gate])) * value_of(wide[gate + inner]));
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

  PENSTOCK_BOTH void at(std::uint64_t i) const {
    const Sum gradient = value_of(out_gradient[i]);
    if (!gated) {
      wide_gradient[i] = rounded<Number>(gelu_slope_of(value_of(wide[i])) * gradient);
      return;
    }
    const std::uint64_t gate = i + i / inner * inner;
    const Sum x = value_of(wide[gate]);
    wide_gradient[gate] =
        rounded<Number>(swish_slope_of(x) * value_of(wide[gate + inner]) * gradient);
    wide_gradient[gate + inner] = rounded<Number>(swish_of(x) * gradient);
  }
};

}  // namespace penstock
