#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// Formats within an error budget. Each stage gets the one that it needs.
struct AutoCodec {
  ErrorBudget budget;
  std::vector<MeasuredCodec> formats;  // at least one, fewest bits first
};

/// How something is encoded: not at all, with one codec, or automatically.
using Encoding = std::variant<std::monostate, CodecSpec, AutoCodec>;

/// A phase of a training with one stash encoding.
struct CodecPhase {
  std::uint64_t iterations = 0;  // 0: the training ends earlier
  Encoding stash;
};

/// Distribution of activation values.
struct Looks {
  std::string name = "gauss";  // empty: given by numbers
  ValueDistribution values;
};

/// How a scenario encodes activations.
struct CodecChoice {
  Encoding stash;  // while kept; of the first phase, if there are phases
  Encoding link;   // while sent
  Looks looks;
  std::vector<CodecPhase> phases;  // of a training; empty: no change
  bool overlappable = false;
  // Encoding and decoding speed; empty: the memory bandwidth of the machine.
  std::optional<double> encode_bytes_per_s;
  std::optional<double> decode_bytes_per_s;

  bool encodes() const { return stash.index() != 0 || link.index() != 0; }
};

/// What an encoding takes: a name, or a codec with its options.
Takes encoding();
const Fields& codec_fields();

/// Reads "codec" of a scenario, after the schema check. Throws InputError with a pointer into the
/// scenario for unknown codecs and options, and if no format meets the error budget.
CodecChoice read_codec_choice(const nlohmann::json& section);
/// Reads the encoding at `place`.
Encoding read_encoding(const nlohmann::json& codec, const std::string& place, const Looks& looks);

/// A short text for a codec: "bfp bits 4 block 16", "none", "auto".
std::string encoding_text(const Encoding& encoding);
std::string encoding_text(const CodecSpec& codec);
/// The encoding as JSON, in the notation of a scenario.
nlohmann::ordered_json encoding_json(const Encoding& encoding);
nlohmann::ordered_json encoding_json(const CodecSpec& codec);

}  // namespace penstock
