#pragma once

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// Parameters of all codecs with shared exponents.
constexpr Parameter block_parameter{"block", "values per shared exponent", 16, 1, 256};
constexpr Parameter bits_parameter{"bits", "bits per value: sign and mantissa", 4, 2, 8};
constexpr Parameter exponent_parameter{"exponent_bits", "bits of the shared exponent", 8, 2, 8};
constexpr Parameter stride_parameter{
    "stride",
    "distance between values of a block: 1 along the rows of a matrix, the row length along its "
    "columns",
    1, 1, 1e9};

/// The format with these parameters.
BlockFormat shared_format(const CodecNumbers& numbers);

}  // namespace penstock
