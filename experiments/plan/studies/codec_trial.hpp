#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// A format, with its errors on values of several distributions.
struct TriedFormat {
  CodecSpec codec;
  double bits_per_value = 0;
  std::vector<CodecError> errors;  // by distribution

  /// Bytes that encoding a GiB of bf16 reads and writes; decoding to a GiB moves the same.
  double moved_bytes_per_gib() const;
};

/// The formats of a codec, compared.
struct CodecTrial {
  std::optional<double> bandwidth_bytes_per_s;  // of the memory used for coding
  std::vector<NamedDistribution> distributions;
  std::vector<TriedFormat> formats;
};

/// Tries a codec on `values` values of each distribution of the trial, at each possible number of
/// bits unless it is given. Throws InputError whose place is a pointer below the codec.
void try_formats(const CodecSpec& codec, std::size_t values, CodecTrial& trial);

std::string codec_trial_text(const CodecTrial& trial);
nlohmann::ordered_json codec_trial_json(const CodecTrial& trial);

}  // namespace penstock
