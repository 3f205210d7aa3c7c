#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "experiments/input/scenario/codec_choice.hpp"

namespace penstock {

/// A recorded metric of a training, and the rule for a plateau. The metric does not depend on the
/// format: nothing here predicts a loss.
struct Plateau {
  std::vector<double> values;  // the first one after `every` iterations
  std::uint64_t every = 1;     // iterations
  std::uint64_t patience = 1;  // evaluations in a row
  double least_improvement = 0;
  bool higher_is_better = false;
};

/// Number of iterations with each format, coarse to fine. An evaluation is an improvement if it
/// beats the best one so far by more than `least_improvement`. After `patience` evaluations in a
/// row without one, the next format starts and the count restarts. The last format stays.
std::vector<std::uint64_t> iterations_by_format(const Plateau& plateau, std::uint64_t iterations,
                                                std::size_t formats);

/// Reads "training" of the "codec" section, after the schema check: explicit phases, or phases
/// derived from a metric. Throws InputError with a pointer into the scenario.
std::vector<CodecPhase> read_codec_phases(const nlohmann::json& training, const Looks& looks);

}  // namespace penstock
