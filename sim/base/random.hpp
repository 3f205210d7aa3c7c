#pragma once

#include <array>
#include <cstdint>

namespace penstock {

/// Stateless random numbers: a pure function of counter and key, so independent of the order of
/// draws and equal on every machine.

/// Philox4x32-10 of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011):
/// 128 random bits per counter and key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A number in the open interval (0, 1) from 64 random bits.
double uniform(std::uint64_t bits);

/// The standard normal quantile of `p` between 0 and 1: algorithm AS 241 of M. J. Wichura (Applied
/// Statistics 37, 1988), accurate to 1e-15.
double normal_quantile(double p);

/// Logarithm and exponential with the same bytes on every machine, unlike those of the C library:
/// they use only operations that IEEE 754 rounds exactly. Relative error within 1e-15 (logarithm
/// near 1: absolute).

/// `x` must be positive, finite and not subnormal.
double portable_log(double x);
/// `x` must lie between -700 and 700.
double portable_exp(double x);

}  // namespace penstock
