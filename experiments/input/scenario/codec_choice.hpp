#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
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

/// Which values of a metric are better.
enum class Better : std::uint8_t { lower, higher };

/// A recorded metric of a training, and the rule for a plateau. The metric does not depend on the
/// format: nothing here predicts a loss.
struct Plateau {
  std::vector<double> values;  // the first one after `every` iterations
  std::uint64_t every = 1;     // iterations
  std::uint64_t patience = 1;  // evaluations in a row
  double least_improvement = 0;
  Better better = Better::lower;
};
const Fields& fields_of(const Plateau& plateau);

/// What "training" of the "codec" section takes.
Takes codec_training();

/// Number of iterations with each format, coarse to fine. An evaluation is an improvement if it
/// beats the best one so far by more than `least_improvement`. After `patience` evaluations in a
/// row without one, the next format starts and the count restarts. The last format stays.
std::vector<std::uint64_t> iterations_by_format(const Plateau& plateau, std::uint64_t iterations,
                                                std::size_t formats);

/// Reads "training" of the "codec" section, after the schema check: explicit phases, or phases
/// derived from a metric. Throws InputError with a pointer into the scenario.
std::vector<CodecPhase> read_codec_phases(const nlohmann::json& training, const Looks& looks);

}  // namespace penstock
