#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// How a scenario encodes activations.
struct CodecChoice {
  std::optional<CodecSpec> stash;  // while they are kept
  std::optional<CodecSpec> link;   // while they travel
  bool overlappable = false;
  // What encoding and decoding move in a second; where not given, as the memory of a machine does.
  std::optional<double> encode_bytes_per_s;
  std::optional<double> decode_bytes_per_s;
};

/// Reads the "codec" of a scenario, which the schema has checked. Throws InputError with a pointer
/// into the scenario for codecs and options that there are not.
CodecChoice read_codec_choice(const nlohmann::json& section);

}  // namespace penstock
