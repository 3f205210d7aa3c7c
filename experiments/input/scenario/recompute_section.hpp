#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "schedules/patterns/offload.hpp"

namespace penstock {

/// "recompute": which activations are recomputed.
struct RecomputeSection {
  std::optional<RecomputeMode> mode;  // default: full, for layers that state its time
  bool early = false;
  std::optional<RecomputeUnit> unit;
  // Of layers by kind, what `selective` recomputes.
  std::vector<std::string> operators = {"core_attention"};
  // By stage of the order: the microbatches that are recomputed, ascending; empty: all.
  std::vector<std::vector<std::uint32_t>> microbatches = {};
};

/// Reads the section, after the schema check; the training command supplies the defaults.
RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command);

/// Reads "offload".
Offload read_offload(const nlohmann::json& section);

}  // namespace penstock
