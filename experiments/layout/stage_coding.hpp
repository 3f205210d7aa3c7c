#pragma once

#include <optional>
#include <vector>

#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// What a codec makes of the values of one cell, and how long it takes for them.
struct Coded {
  CodecSpec codec;
  double plain_bytes = 0;
  double packed_bytes = 0;
  double encode_us = 0;
  double decode_us = 0;
};

/// How long passes encode and decode what is kept and sent, beside the work of their layers.
struct CodecTimes {
  double forward_us = 0;
  double backward_us = 0;         // B, or I
  double backward_weight_us = 0;  // W
};

/// What is encoded of a model stage; without a value where it stays as it is.
struct StageCoding {
  double kept_bytes = 0;       // of a cell, as they are, encoded or not
  std::optional<Coded> stash;  // what its layers keep
  std::optional<Coded> link;   // what it hands on to another rank
  CodecTimes times;            // of its passes
};

/// By model stage: the codec of its stash, and that of what it hands on.
struct StageFormats {
  std::vector<std::optional<CodecSpec>> stash;
  std::vector<std::optional<CodecSpec>> link;
};

}  // namespace penstock
