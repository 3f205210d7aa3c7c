#pragma once

namespace penstock {

/// Logarithm and exponential that give the same bytes on every machine, which those of the C
/// library do not: they use nothing but operations that IEEE 754 rounds exactly. Within 1e-15 of
/// the true value, relatively (of the logarithm near 1: absolutely).

/// `x` must be positive, finite and not subnormal.
double portable_log(double x);
/// `x` must lie between -700 and 700.
double portable_exp(double x);

}  // namespace penstock
