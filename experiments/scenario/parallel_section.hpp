#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// "parallel": over how many devices, and how.
struct ParallelSection {
  std::optional<std::uint32_t> pipeline;  // ranks
  std::optional<std::uint32_t> chunks;    // of the model, on each rank
  std::uint32_t tensor = 1;
  std::optional<std::uint32_t> data = 1;  // without a value: what the devices leave
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  bool sequence = false;     // shards norms and dropout along the sequence
  // Gradients are reduced while ranks still compute; without a value they are.
  std::optional<bool> overlap_sums;
};

/// Reads the section, which the schema has checked; a training command stands in for what it leaves
/// open.
ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command);

}  // namespace penstock
