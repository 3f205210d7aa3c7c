#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

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
