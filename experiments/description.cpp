#include "experiments/description.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware_models/model_layers.hpp"

namespace penstock {
namespace {

CellShape shape_for(const ModelFile& file, const DescriptionOptions& options) {
  const TrainingCommand& command = file.command;
  const auto first = [](std::optional<double> stated, auto otherwise) {
    return stated ? *stated : static_cast<double>(otherwise);
  };
  const bool wide = command.dtype == "fp32" || command.dtype == "tf32";
  CellShape shape;
  shape.sequence = options.sequence ? *options.sequence
                                    : command.sequence.value_or(usual_sequence(file.max_sequence));
  shape.microbatch = first(options.microbatch, command.microbatch.value_or(1));
  shape.activation_size = shape.parameter_size = wide ? 4 : 2;
  shape.tensor = first(options.tensor, command.tensor.value_or(1));
  shape.context = first(options.context, command.context.value_or(1));
  shape.expert = first(options.expert, command.expert.value_or(1));
  shape.sequence_parallel = command.sequence_parallel.value_or(false);
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
          .input_bytes = work.input_bytes,
          .predicts_further = block.predicts_further};
}

/// Sums of all blocks but those that predict further tokens.
void add_block(ModelDescription& model, const BlockSpec& block) {
  const LayerWork work = work_of(block, model.shape);
  model.layers.push_back(facts_of(block, work, model.shape));
  if (block.predicts_further) {
    model.further_parameters += work.parameters;
    return;
  }
  model.parameters += work.parameters;
  model.active_parameters += work.active_parameters;
  model.forward_flops_per_example += work.forward_flops / model.shape.microbatch;
  model.full_attention_flops_per_example += work.full_attention_flops / model.shape.microbatch;
  model.parameter_bytes += model.layers.back().parameter_bytes;
  model.activation_bytes += work.output_bytes;
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

}  // namespace

ModelDescription describe(const ModelFile& file, const DescriptionOptions& options) {
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
