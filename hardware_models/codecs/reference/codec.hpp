#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// A codec ready to encode: the reference that other implementations must match bit by bit.
struct Codec {
  const CodecEntry* entry = nullptr;
  BlockFormat format;
  std::uint32_t block_bits = 0;
};

/// Throws InputError with a pointer below the codec.
Codec make_codec(const CodecSpec& spec);

/// Where the values of blocks lie in an array: rows of `stride` values, each column cut into blocks
/// from the top. A block that reaches past the array is padded with zeros.
class BlockOrder {
 public:
  BlockOrder(const BlockFormat& format, std::size_t count);

  std::size_t blocks() const { return columns_ * blocks_a_column_; }
  /// The position of a value of a block; `count` or more past the end of the array.
  std::size_t position(std::size_t block, std::size_t place) const {
    const std::size_t row = block % blocks_a_column_ * block_ + place;
    return row * stride_ + block / blocks_a_column_;
  }

 private:
  std::size_t block_;
  std::size_t stride_;
  std::size_t columns_;
  std::size_t blocks_a_column_;
};

/// The packed size of this many values: whole blocks, the last byte padded.
std::size_t packed_bytes(const Codec& codec, std::size_t count);

std::vector<std::uint8_t> encode(const Codec& codec, std::span<const float> values);

/// Throws InputError when the number of bytes does not match the number of values.
std::vector<float> decode(const Codec& codec, std::span<const std::uint8_t> packed,
                          std::size_t count);

/// The error of values that went through a codec.
struct CodecError {
  double sqnr_db = 0;          // signal to quantization noise, squared; infinite without error
  double most_half_steps = 0;  // the largest error, in half steps of evenly spaced mantissas
  double flushed_share = 0;    // share of nonzero values that became zero
};

/// Encodes and decodes finite values.
CodecError codec_error(const Codec& codec, std::span<const float> values);

/// The largest acceptable error of encoded values. The defaults are assumptions: what a training
/// run tolerates is not a property of the format.
struct ErrorBudget {
  double least_sqnr_db = 25;
  double most_flushed = 0.05;  // share of nonzero values that may become zero

  bool allows(const CodecError& error) const {
    return error.sqnr_db >= least_sqnr_db && error.flushed_share <= most_flushed;
  }
};

/// A codec and its error on values of a distribution.
struct MeasuredCodec {
  CodecSpec codec;
  double bits_per_value = 0;
  CodecError error;
};

/// The codec with its missing parameters of a distribution (tail_share, tail_factor, rectified) set
/// to those of `distribution`.
CodecSpec fitted_to(const ValueDistribution& distribution, CodecSpec codec);

/// Encodes and decodes the values. Throws InputError with a pointer below the codec.
MeasuredCodec measured(const CodecSpec& codec, std::span<const float> values);

/// Default number of values that codecs are tried on.
constexpr std::size_t tried_values = std::size_t{1} << 15;

/// Result of a format search.
struct FormatSearch {
  /// For each codec and block size within the budget, the format with the fewest bits per value;
  /// ties go to the least error. Empty: none is within the budget.
  std::vector<MeasuredCodec> formats;
  MeasuredCodec best;  // least error of all that were tried
};

/// Searches all formats of the codecs: every "bits", and a "block" of 16, 32, 64 or 128; other
/// parameters come from fitted_to. Assumes that more bits never hurt, so each block size stops at
/// the first number of bits that is out of budget.
FormatSearch search_formats(std::span<const CodecEntry* const> codecs, const ErrorBudget& budget,
                            const ValueDistribution& distribution);

}  // namespace penstock
