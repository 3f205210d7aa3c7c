#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hardware_models/codecs/coding/bits.hpp"
#include "sim/base/parameters.hpp"

namespace penstock {

/// A codec name with its parameters: {"bfp", {{"bits", 4}}}.
struct CodecSpec {
  std::string name;
  NamedNumbers numbers;

  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

/// The parameters of a codec.
using CodecNumbers = SettledNumbers;

/// How a codec packs a block of values with a shared exponent. A packed block starts with the
/// exponent; blocks follow without gaps.
struct BlockFormat {
  std::uint32_t block = 16;         // values per block
  std::uint32_t stride = 1;         // distance between values of a block
  std::uint32_t mantissa_bits = 4;  // per value, sign included
  std::uint32_t exponent_bits = 8;
  std::uint32_t outliers = 0;  // values per block that are stored separately
  // Mantissa levels as shares of 2^(E + 1); empty: evenly spaced from 0.
  std::vector<double> levels;

  std::uint32_t mantissas() const { return std::uint32_t{1} << (mantissa_bits - 1); }
};

/// Memory traffic of one direction: uncompressed plus packed bytes.
constexpr double bytes_moved(double plain_bytes, double packed_bytes) {
  return plain_bytes + packed_bytes;
}

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

/// The bias is half the range, as in floats. The highest code is reserved: it marks a block with an
/// infinity or a NaN and decodes to NaNs.
constexpr int exponent_bias(std::uint32_t bits) { return (1 << (bits - 1)) - 1; }
constexpr std::uint32_t not_finite(std::uint32_t bits) { return (std::uint32_t{1} << bits) - 1; }

/// The code nearest to the exponent of a magnitude: floor(log2(magnitude)).
std::uint32_t exponent_code(float magnitude, std::uint32_t bits);
constexpr int exponent_of(std::uint32_t code, std::uint32_t bits) {
  return static_cast<int>(code) - exponent_bias(bits);
}

/// Half the distance between evenly spaced mantissas: 2^(E - w + 1). The largest error of a finite
/// value in a block with the exponent of its largest value. Values clamped to the highest mantissa
/// are off by up to twice as much.
double half_step(int exponent, std::uint32_t mantissa_bits);

/// Packs the exponent of the largest magnitude, then sign and mantissa of each value. Mantissas are
/// rounded half to even and clamped to the highest one.
void put_values(const BlockFormat& format, std::span<const float> block, BitWriter& packed);

/// Unpacks a block. Zeros keep their signs.
void get_values(const BlockFormat& format, BitReader& packed, std::span<float> block);

/// Bits of a packed block.
std::uint32_t value_bits(const CodecNumbers& numbers);

}  // namespace penstock
