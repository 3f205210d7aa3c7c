#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// The facts of one layer. Bytes are per device and microbatch.
struct LayerFacts {
  std::string name;
  std::string kinds;  // "norm, attention"; empty for a layer by times
  double parameters = 0;
  double active_parameters = 0;
  double forward_flops = 0;  // of a microbatch
  double parameter_bytes = 0;
  double output_bytes = 0;
  double kept_bytes = 0;            // without recomputation
  double kept_selective_bytes = 0;  // with selective recomputation
  double kept_full_bytes = 0;       // with full recomputation
  double forward_us = 0;            // of a layer by times
  double backward_us = 0;
  bool predicts_further = false;
};

/// The facts of a model, independent of the machine. Parameters and FLOPs exclude multi-token
/// prediction.
struct ModelDescription {
  std::string format;
  std::string architecture;
  std::vector<LayerFacts> layers;
  std::size_t edges = 0;
  bool by_kind = false;     // otherwise by times
  bool has_tokens = false;  // examples are sequences

  double parameters = 0;
  double active_parameters = 0;
  double further_parameters = 0;         // of multi-token prediction
  double further_flops_per_example = 0;  // of its forward; MFU of a run counts them
  double forward_flops_per_example = 0;
  double full_attention_flops_per_example = 0;  // additional FLOPs without the saving of a causal
                                                // mask
  double parameter_bytes = 0;
  double activation_bytes = 0;
  double forward_us = 0;
  double backward_us = 0;

  CellShape shape;
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<std::vector<Rank>> ranks;
  std::vector<std::string> notes;
};

/// Options of a description; unset ones come from the file, or are defaults.
struct DescriptionOptions {
  std::optional<double> sequence;
  std::optional<double> microbatch;
  std::optional<double> tensor;
  std::optional<double> context;
  std::optional<double> expert;
  std::optional<double> expert_tensor;
  std::optional<std::string> dtype;
  bool sequence_parallel = false;
};

/// Throws InputError with a place inside the model's file, and UsageError for options that do not
/// apply.
ModelDescription describe(const ModelFile& file, const DescriptionOptions& options);

std::string description_text(const ModelDescription& model);
nlohmann::ordered_json description_json(const ModelDescription& model);

}  // namespace penstock
