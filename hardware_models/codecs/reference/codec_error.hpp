#pragma once

#include <span>

#include "hardware_models/codecs/reference/codec.hpp"

namespace penstock {

/// The error of values that went through a codec.
struct CodecError {
  double sqnr_db = 0;          // signal to quantization noise, squared; infinite without error
  double most_half_steps = 0;  // the largest error, in half steps of evenly spaced mantissas
  double flushed_share = 0;    // share of nonzero values that became zero
};

/// Encodes and decodes finite values.
CodecError codec_error(const Codec& codec, std::span<const float> values);

}  // namespace penstock
