#pragma once

#include <span>

#include "hardware_models/codecs/reference/codec.hpp"

namespace penstock {

/// How far values are off that went through a codec.
struct CodecError {
  double sqnr_db = 0;          // signal to error, of squares; infinite where there is no error
  double most_half_steps = 0;  // the largest error, in half steps of evenly spaced mantissas
  double flushed_share = 0;    // of the values that are not zero, those that came back as zero
};

/// Encodes and decodes values, which must be finite.
CodecError codec_error(const Codec& codec, std::span<const float> values);

}  // namespace penstock
