#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_coding.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// What a run's codecs did to its activations.
struct CodecReport {
  Looks looks;                         // values that codecs were measured on
  double plain_bits = 16;              // of an uncompressed value
  std::vector<StageCoding> stages;     // model stages
  std::vector<MeasuredCodec> formats;  // formats of the stages, each once

  const MeasuredCodec& measured_as(const CodecSpec& codec) const;
};

/// Encodes and decodes drawn values in each format, which takes milliseconds: for reports of a
/// finished run whose layout has `codings`.
CodecReport codec_report(const Layout& layout);

/// Average bits per stash value over all stages; `plain_bits` without a stash.
double stash_bits(const CodecReport& report);

/// A table for a terminal. Consecutive equal stages share a row.
std::string codec_table(const CodecReport& report, TimeUnit unit);
/// "codec" of run --json.
nlohmann::ordered_json codec_json(const CodecReport& report);

/// One iteration with one stash encoding.
struct CodedIteration {
  Encoding stash;
  double bits_per_value = 0;     // average over the stash
  std::optional<Time> makespan;  // empty if the run deadlocks
  std::uint64_t peak_bytes = 0;  // of the rank with the highest peak
  std::uint32_t peak_rank = 0;
};

/// A training with a schedule of formats. The time of a phase is its number of iterations times the
/// makespan of one, simulated with its format. Ignores the warm-up of the first iteration.
struct CodecTraining {
  struct Phase {
    std::uint64_t first_iteration = 0;
    std::uint64_t iterations = 0;
    CodedIteration iteration;
  };
  std::vector<Phase> phases;
  CodedIteration plain;  // stash not encoded
  std::optional<std::uint64_t> capacity_bytes;

  std::uint64_t iterations() const;
  std::uint64_t peak_bytes() const;
  /// In microseconds; empty if a phase does not finish.
  std::optional<double> time_us() const;
  /// As above, with every iteration equal to this one.
  std::optional<double> time_us_throughout(const CodedIteration& iteration) const;
  /// The phase with the most bits per value.
  const CodedIteration& finest() const;
};

std::string codec_training_text(const CodecTraining& training);
/// "codec_training" of run --json.
nlohmann::ordered_json codec_training_json(const CodecTraining& training);

}  // namespace penstock
