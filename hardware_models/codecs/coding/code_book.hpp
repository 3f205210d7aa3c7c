#pragma once

#include <vector>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"

namespace penstock {

/// Mantissa levels of a format, ascending, with the least square error that Lloyd's iteration finds
/// for a distribution (S. P. Lloyd, "Least squares quantization in PCM", 1982). The lowest is 0, so
/// zeros stay zeros. A pure function of format and distribution.
std::vector<double> fitted_levels(const BlockFormat& format, const ValueDistribution& distribution);

}  // namespace penstock
