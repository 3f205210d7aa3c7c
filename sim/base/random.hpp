#pragma once

#include <array>
#include <cstdint>

namespace penstock {

/// Random numbers without a state: what is drawn is a pure function of a counter and a key, so it
/// does not depend on who draws first, and is the same on every machine.

/// Philox4x32-10 of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011):
/// 128 random bits for every counter and key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A number between 0 and 1, never either of them, from 64 random bits.
double uniform(std::uint64_t bits);

/// The number below which a standard normal variable lies with probability `p`, which must be
/// between 0 and 1: algorithm AS 241 of M. J. Wichura (Applied Statistics 37, 1988), good to 1e-15.
double normal_quantile(double p);

}  // namespace penstock
