#pragma once

#include <optional>

#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// The layers of a profile as a graph, with costs for a microbatch of `examples` examples.
ModelGraph graph_at(const ModelFile& file, double examples);

/// The layers of a model by times, for the given microbatch. A profile at a single size is scaled
/// only if that size is given, in proportion. Empty for a model by kinds.
ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch = std::nullopt);

}  // namespace penstock
