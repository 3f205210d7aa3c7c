#pragma once

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// Numbers that all codecs with shared exponents take.
constexpr Parameter block_parameter{"block", "values that share an exponent", 16, 1, 256};
constexpr Parameter bits_parameter{"bits", "of a value: its sign and its mantissa", 4, 2, 8};
constexpr Parameter exponent_parameter{"exponent_bits", "of a shared exponent", 8, 2, 8};
constexpr Parameter stride_parameter{
    "stride",
    "how far apart the values of a block lie: 1 along the rows of a matrix, the length of a row "
    "down its columns",
    1, 1, 1e9};

/// The format that these say.
BlockFormat shared_format(const CodecNumbers& numbers);

}  // namespace penstock
