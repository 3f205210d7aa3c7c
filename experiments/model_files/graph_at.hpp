#pragma once

#include <optional>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// The graph of a profile's layers with what they take in a microbatch of so many examples.
ModelGraph graph_at(const ModelFile& file, double examples);

/// The layers of a model by times for a microbatch of so many examples; of a profile at a single
/// size only where that size is given, since times are then scaled in proportion. Empty for a
/// model by kinds.
ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch = std::nullopt);

}  // namespace penstock
