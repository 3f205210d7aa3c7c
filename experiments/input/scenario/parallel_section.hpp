#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// "parallel": degrees of parallelism.
struct ParallelSection {
  std::optional<std::uint32_t> pipeline;  // ranks
  std::optional<std::uint32_t> chunks;    // of the model, per rank
  std::uint32_t tensor = 1;
  std::optional<std::uint32_t> data = 1;  // empty: as many as the devices allow
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  bool sequence = false;  // shards norms and dropout along the sequence
  // Overlap gradient reduction with compute; the default is true.
  std::optional<bool> overlap_sums;
  // The gather of new weights overlaps the next step's first forwards; the default is the stack's.
  std::optional<bool> overlap_gathers;
  std::optional<double> bucket_bytes;  // gradients reduced at once; default: see `gradient_buckets`
  bool overlap_experts = false;        // all-to-alls of experts overlap the compute of their pass
  bool scatter_gather = false;         // a tensor group sends each activation once, in shares
};

/// Reads the section, after the schema check; the training command supplies the defaults.
ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command);

}  // namespace penstock
