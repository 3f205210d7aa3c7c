#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/scenario/codec_choice.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// One iteration with the stash encoded in some way.
struct CodedIteration {
  Encoding stash;
  double bits_per_value = 0;     // of the stash, on average over what is kept
  std::optional<Time> makespan;  // nothing where the run comes to a halt
  std::uint64_t peak_bytes = 0;  // of the rank that holds most
  std::uint32_t peak_rank = 0;
};

/// What a schedule of formats over a training comes to: a phase takes its iterations times the
/// makespan of one, simulated with its format. Without what the first iteration takes longer.
struct CodecTraining {
  struct Phase {
    std::uint64_t first_iteration = 0;
    std::uint64_t iterations = 0;
    CodedIteration iteration;
  };
  std::vector<Phase> phases;
  CodedIteration plain;  // nothing of the stash encoded
  std::optional<std::uint64_t> capacity_bytes;

  std::uint64_t iterations() const;
  std::uint64_t peak_bytes() const;
  /// In microseconds; nothing where a phase does not finish.
  std::optional<double> time_us() const;
  /// The same if all of the training were as one iteration.
  std::optional<double> time_us_throughout(const CodedIteration& iteration) const;
  /// The phase with the most bits a value.
  const CodedIteration& finest() const;
};

std::string codec_training_text(const CodecTraining& training);
/// "codec_training" of run --json.
nlohmann::ordered_json codec_training_json(const CodecTraining& training);

}  // namespace penstock
