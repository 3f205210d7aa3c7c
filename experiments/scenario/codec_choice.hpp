#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock {

/// Formats within an error budget, of which each stage gets what it needs.
struct AutoCodec {
  ErrorBudget budget;
  std::vector<MeasuredCodec> formats;  // at least one, the fewest bits first
};

/// How something is encoded: not at all, as a codec says, or as it turns out.
using Encoding = std::variant<std::monostate, CodecSpec, AutoCodec>;

/// A part of a training that encodes its stashes in one way.
struct CodecPhase {
  std::uint64_t iterations = 0;  // 0: the training ends before it comes to that
  Encoding stash;
};

/// What activations look like.
struct Looks {
  std::string name = "gauss";  // empty: given by numbers
  ValueDistribution values;
};

/// How a scenario encodes activations.
struct CodecChoice {
  Encoding stash;  // while they are kept; of the first phase where there are some
  Encoding link;   // while they travel
  Looks looks;
  std::vector<CodecPhase> phases;  // of a training; empty: it is the same throughout
  bool overlappable = false;
  // What encoding and decoding move in a second; where not given, as the memory of a machine does.
  std::optional<double> encode_bytes_per_s;
  std::optional<double> decode_bytes_per_s;

  bool encodes() const { return stash.index() != 0 || link.index() != 0; }
};

/// Reads the "codec" of a scenario, which the schema has checked. Throws InputError with a pointer
/// into the scenario for codecs and options that there are not, and where no format is within a
/// budget.
CodecChoice read_codec_choice(const nlohmann::json& section);
/// One of its encodings, which stands at `place`.
Encoding read_encoding(const nlohmann::json& codec, const std::string& place, const Looks& looks);

/// A codec as a scenario has it, in a few words: "bfp bits 4 block 16", "none", "auto".
std::string encoding_text(const Encoding& encoding);
std::string encoding_text(const CodecSpec& codec);
/// The same as a scenario would say it.
nlohmann::ordered_json encoding_json(const Encoding& encoding);
nlohmann::ordered_json encoding_json(const CodecSpec& codec);

}  // namespace penstock
