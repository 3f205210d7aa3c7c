#pragma once

#include <vector>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"

namespace penstock {

/// Mantissa levels of a format, ascending, with the least square error for a distribution: the
/// global optimum of the conditions of Lloyd and Max (S. P. Lloyd, "Least squares quantization in
/// PCM", 1982). Zero is a level only of rectified values, half of which are zeros: elsewhere it
/// would cost a level, 2.2 dB of normal values at 2 bits. A pure function of format and
/// distribution.
std::vector<double> fitted_levels(const BlockFormat& format, const ValueDistribution& distribution);

}  // namespace penstock
