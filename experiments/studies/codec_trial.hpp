#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec_error.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// A format, and what it does to values of some distributions.
struct TriedFormat {
  CodecSpec codec;
  double bits_per_value = 0;
  std::vector<CodecError> errors;  // by distribution

  /// What encoding a GiB of bf16 reads and writes, and so does decoding to one.
  double moved_bytes_per_gib() const;
};

/// Formats of a codec, side by side.
struct CodecTrial {
  std::optional<double> bandwidth_bytes_per_s;  // of the memory that coding reads and writes
  std::vector<NamedDistribution> distributions;
  std::vector<TriedFormat> formats;
};

/// Tries a codec on so many values of each distribution of the trial: with each number of bits that
/// it can have, unless that is given. Throws InputError, its place a pointer below the codec.
void try_formats(const CodecSpec& codec, std::size_t values, CodecTrial& trial);

std::string codec_trial_text(const CodecTrial& trial);
nlohmann::ordered_json codec_trial_json(const CodecTrial& trial);

}  // namespace penstock
