#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec_error.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// How far off encoded values may be. (Assumptions where nobody says: what a training stands is not
/// a matter of the format.)
struct ErrorBudget {
  double least_sqnr_db = 25;
  double most_flushed = 0.05;  // of the values that are not zero, those that may become zero

  bool allows(const CodecError& error) const {
    return error.sqnr_db >= least_sqnr_db && error.flushed_share <= most_flushed;
  }
};

/// A codec with what it does to the values of some distribution.
struct MeasuredCodec {
  CodecSpec codec;
  double bits_per_value = 0;
  CodecError error;
};

/// A codec as it is when nothing more is said of it than that it meets such values: numbers that it
/// takes and that are not given, named as those of a distribution (tail_share, tail_factor,
/// rectified), are this one's.
CodecSpec fitted_to(const ValueDistribution& distribution, CodecSpec codec);

/// Really encodes and decodes values. Throws InputError, its place a pointer below the codec.
MeasuredCodec measured(const CodecSpec& codec, std::span<const float> values);

/// How many values codecs are tried on, unless more is asked for.
constexpr std::size_t tried_values = std::size_t{1} << 15;

/// What a search for formats came to.
struct FormatSearch {
  /// Those of one codec with blocks of one size that are within the budget, the fewest bits a value
  /// first: the codec and the blocks of which some format takes fewest. Of several that take as
  /// many, the one with the least error. Without any: none is within the budget.
  std::vector<MeasuredCodec> formats;
  MeasuredCodec best;  // of all that were tried, the one with the least error
};

/// Searches all formats that codecs have with their "bits", and with a "block" of 16, 32, 64 or
/// 128; numbers of other names are as fitted_to has them. More bits are taken to do no harm, so
/// that a size of blocks is left at the first number of bits that is too few.
FormatSearch search_formats(std::span<const CodecEntry* const> codecs, const ErrorBudget& budget,
                            const ValueDistribution& distribution);

}  // namespace penstock
