#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "experiments/model_files/model_file.hpp"
#include "schedules/patterns/offload.hpp"

namespace penstock {

/// "recompute": which activations are made again.
struct RecomputeSection {
  std::optional<RecomputeMode> mode;  // not stated: full, of layers that say how long it takes
  bool early = false;
  std::optional<RecomputeUnit> unit;
};

/// Reads the section, which the schema has checked; a training command stands in for what it leaves
/// open.
RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command);

/// Reads "offload".
Offload read_offload(const nlohmann::json& section);

}  // namespace penstock
