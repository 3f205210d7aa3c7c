#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "experiments/run/layout/cut_problem.hpp"

namespace penstock {

/// A model to cut, and the size of its microbatches.
struct PlannedModelRequest {
  std::string path;  // "-" for standard input
  ModelFileOptions file;
  std::string hardware;  // a machine, for layers given by kind
  std::optional<std::uint32_t> sequence;
  std::optional<std::uint32_t> microbatch;
  std::uint32_t ranks = 1;
  std::uint32_t tensor = 1;
};

/// A model as partitioners see it.
struct PlannedModel {
  ModelGraph graph;
  ModelToCut to_cut;
  std::vector<std::string> notes;
};

/// Reads and prices a model. Profiles of PipeDream are planned without their inputs and without the
/// `__getitem__` nodes at their end, as in its optimizer. Throws InputError that starts with the
/// file, and UsageError when layers by kind have no hardware.
PlannedModel planned_model(const PlannedModelRequest& request);

}  // namespace penstock
