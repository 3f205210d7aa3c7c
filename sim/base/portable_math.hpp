#pragma once

namespace penstock {

/// Logarithm and exponential with the same bytes on every machine, unlike those of the C library:
/// they use only operations that IEEE 754 rounds exactly. Relative error within 1e-15 (logarithm
/// near 1: absolute).

/// `x` must be positive, finite and not subnormal.
double portable_log(double x);
/// `x` must lie between -700 and 700.
double portable_exp(double x);

}  // namespace penstock
