#pragma once

#include <optional>
#include <vector>

#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// Encoded size of the values of one cell, and the time to encode and decode them.
struct Coded {
  CodecSpec codec;
  double plain_bytes = 0;
  double packed_bytes = 0;
  double encode_us = 0;
  double decode_us = 0;
};

/// Time that passes spend on encoding and decoding, in addition to their layers.
struct CodecTimes {
  double forward_us = 0;
  double backward_us = 0;         // B, or I
  double backward_weight_us = 0;  // W
};

/// Codecs of a model stage; empty where it encodes nothing.
struct StageCoding {
  double kept_bytes = 0;       // per cell, before encoding
  std::optional<Coded> stash;  // activations that its layers keep
  std::optional<Coded> link;   // output to another rank
  CodecTimes times;            // of its passes
};

/// By model stage: the codec of its stash, and the codec of its output.
struct StageFormats {
  std::vector<std::optional<CodecSpec>> stash;
  std::vector<std::optional<CodecSpec>> link;
};

}  // namespace penstock
