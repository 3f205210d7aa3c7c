#include "experiments/plan/studies/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

CellShape shape_for(const ModelFile& file, const DescriptionOptions& options) {
  const TrainingCommand& command = file.command;
  const auto first = [](std::optional<double> stated, auto otherwise) {
    return stated ? *stated : static_cast<double>(otherwise);
  };
  const std::string dtype = options.dtype.value_or(command.dtype.value_or("bf16"));
  const bool wide = dtype == "fp32" || dtype == "tf32";
  CellShape shape;
  shape.sequence = options.sequence ? *options.sequence
                                    : command.sequence.value_or(usual_sequence(file.max_sequence));
  shape.microbatch = first(options.microbatch, command.microbatch.value_or(1));
  shape.activation_size = shape.parameter_size = wide ? 4 : 2;
  shape.tensor = first(options.tensor, command.tensor.value_or(1));
  shape.context = first(options.context, command.context.value_or(1));
  shape.expert = first(options.expert, command.expert.value_or(1));
  shape.sequence_parallel = options.sequence_parallel || command.sequence_parallel.value_or(false);
  if (std::fmod(shape.sequence, shape.context) != 0) {
    throw UsageError(fmt::format("--context {}: a sequence of {} tokens does not divide by it",
                                 shape.context, shape.sequence));
  }
  return shape;
}

std::string kinds_of(const BlockSpec& block) {
  std::vector<std::string_view> kinds;
  for (const LayerSpec& part : block.parts) kinds.push_back(part.kind);
  return fmt::format("{}", fmt::join(kinds, ", "));
}

LayerFacts facts_of(const BlockSpec& block, const LayerWork& work, const CellShape& shape) {
  return {.name = block.name,
          .kinds = kinds_of(block),
          .parameters = work.parameters,
          .active_parameters = work.active_parameters,
          .forward_flops = work.forward_flops,
          .parameter_bytes =
              (work.held_parameters + work.held_expert_parameters) * shape.parameter_size,
          .output_bytes = work.output_bytes,
          .kept_bytes = work.kept_bytes,
          .kept_selective_bytes = work.kept_selective_bytes,
          .kept_full_bytes = block.cut_evenly || block.predicts_further ? work.input_bytes
                                                                        : work.kept_selective_bytes,
          .predicts_further = block.predicts_further};
}

/// Layers of multi-token prediction count in the memory of devices but not in the parameters and
/// FLOPs of the model.
void add_block(ModelDescription& model, const BlockSpec& block) {
  const LayerWork work = work_of(block, model.shape);
  model.layers.push_back(facts_of(block, work, model.shape));
  model.parameter_bytes += model.layers.back().parameter_bytes;
  model.activation_bytes += work.output_bytes;
  if (block.predicts_further) {
    model.further_parameters += work.parameters;
    return;
  }
  model.parameters += work.parameters;
  model.active_parameters += work.active_parameters;
  model.forward_flops_per_example += work.forward_flops / model.shape.microbatch;
  model.full_attention_flops_per_example += work.full_attention_flops / model.shape.microbatch;
}

void add_layer(ModelDescription& model, const Layer& layer) {
  const double backward = layer.backward_us.value_or(layer.backward_input_us.value_or(0) +
                                                     layer.backward_weight_us.value_or(0));
  model.layers.push_back({.name = layer.name,
                          .kinds = "",
                          .parameter_bytes = layer.parameter_bytes,
                          .output_bytes = layer.activation_bytes,
                          .kept_bytes = layer.stash_bytes,
                          .forward_us = layer.forward_us.value_or(0),
                          .backward_us = backward});
  model.parameter_bytes += layer.parameter_bytes;
  model.activation_bytes += layer.activation_bytes;
  model.forward_us += layer.forward_us.value_or(0);
  model.backward_us += backward;
}

/// Times hold only for the size and devices of their measurement.
void check_options(const ModelFile& file, const DescriptionOptions& options) {
  if (!file.spec.blocks.empty()) return;
  const bool scaled = options.microbatch && file.profile.entries.empty();
  const bool shaped = options.sequence || options.tensor || options.context || options.expert ||
                      options.dtype || options.sequence_parallel;
  if (!scaled && !shaped) return;
  throw UsageError(
      fmt::format("a file of the format {} has times of {}: they are shown as they are",
                  file.format, scaled ? "one size that it does not tell" : "one way to run it"));
}

}  // namespace

ModelDescription describe(const ModelFile& file, const DescriptionOptions& options) {
  check_options(file, options);
  ModelDescription model;
  model.format = file.format;
  model.architecture = file.architecture;
  model.stages = file.stages;
  model.ranks = file.ranks;
  model.notes = file.notes;
  model.shape = shape_for(file, options);
  model.by_kind = !file.spec.blocks.empty();
  model.has_tokens = has_tokens(file.spec);
  for (const BlockSpec& block : file.spec.blocks) add_block(model, block);
  const ModelGraph graph = graph_by_times(file, options.microbatch);
  for (const Layer& layer : graph.layers) add_layer(model, layer);
  model.edges = model.by_kind ? model.layers.size() - 1 : graph.edges.size();
  return model;
}

}  // namespace penstock
