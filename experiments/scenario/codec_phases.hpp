#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "experiments/scenario/codec_choice.hpp"

namespace penstock {

/// A metric of a training, evaluated every so many iterations, and when it counts as standing
/// still. It is one that was recorded: nothing here says how a format changes it.
struct Plateau {
  std::vector<double> values;  // the first after `every` iterations
  std::uint64_t every = 1;     // iterations
  std::uint64_t patience = 1;  // evaluations in a row
  double least_improvement = 0;
  bool higher_is_better = false;
};

/// How many iterations of a training each of so many formats serves, from coarse to fine. An
/// evaluation improves the metric when it is better than the best one before it by more than
/// `least_improvement`; after `patience` evaluations in a row that do not, the next format takes
/// over, and they are counted anew. The last one stays.
std::vector<std::uint64_t> iterations_by_format(const Plateau& plateau, std::uint64_t iterations,
                                                std::size_t formats);

/// Reads "training" of a scenario's "codec", which the schema has checked: phases as they are
/// given, or as they follow from a metric. Throws InputError with a pointer into the scenario.
std::vector<CodecPhase> read_codec_phases(const nlohmann::json& training, const Looks& looks);

}  // namespace penstock
