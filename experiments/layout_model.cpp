#include "experiments/layout_model.hpp"

#include <algorithm>

#include "experiments/training.hpp"
#include "hardware_models/model_layers.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// From here on a layer costs what it does with selective recomputation.
void make_selective(Layer& layer) {
  layer.recompute_us = layer.selective_recompute_us.value_or(layer.recompute_us);
  layer.stash_bytes = layer.selective_stash_bytes.value_or(layer.stash_bytes);
  layer.recomputed_bytes = layer.selective_recomputed_bytes.value_or(layer.recomputed_bytes);
}

Remaking remaking_of(const Scenario& scenario) {
  switch (scenario.recompute.value_or(RecomputeMode::none)) {
    case RecomputeMode::none:
      return Remaking::nothing;
    case RecomputeMode::selective:
      return Remaking::selected;
    case RecomputeMode::full:
      return scenario.recompute_unit == RecomputeUnit::stage ? Remaking::whole_stages
                                                             : Remaking::blocks;
    case RecomputeMode::except_last:
      return Remaking::whole_stages;
  }
  return Remaking::nothing;
}

void check_unit(const Scenario& scenario) {
  if (!scenario.recompute_unit) return;
  const char* why = nullptr;
  if (scenario.model_spec.blocks.empty()) {
    why =
        "layers that state what they cost state what is made again; a unit goes with layers by "
        "kind";
  } else if (scenario.recompute == RecomputeMode::selective &&
             scenario.recompute_unit == RecomputeUnit::stage) {
    why = "selective recomputation goes layer by layer";
  } else if (scenario.recompute == RecomputeMode::except_last &&
             scenario.recompute_unit == RecomputeUnit::layer) {
    why = "except_last makes whole stages again";
  }
  if (why != nullptr) throw InputError("/recompute/unit", why);
}

/// Whether one rank runs the first and the last stage of each copy of the model.
bool ends_share_a_rank(const Placement& placement) {
  const auto& chains = placement.chains();
  return std::all_of(chains.begin(), chains.end(), [&](const std::vector<Stage>& chain) {
    return placement.rank_of(chain.front(), Microbatch{0}) ==
           placement.rank_of(chain.back(), Microbatch{0});
  });
}

/// The weights on one device, at the end of the model, that are those of the embedding: of a head,
/// or of what predicts further tokens, which reads them at either end.
double tied_parameters(const Scenario& scenario, const CellShape& shape) {
  double tied = 0;
  for (const BlockSpec& block : scenario.model_spec.blocks) {
    if (block.cut_evenly) continue;
    tied = std::max(tied, work_of(block, shape).tied_parameters);
  }
  return tied;
}

}  // namespace

CellShape shape_of(const Scenario& scenario, std::uint32_t slices) {
  const bool wide = scenario.dtype == "fp32" || scenario.dtype == "tf32";
  const double size = wide ? 4 : 2;
  return {.sequence = scenario.sequence.value_or(1),
          .microbatch = scenario.microbatch.value_or(1),
          .slices = double(slices),
          .activation_size = size,
          .parameter_size = kept_of(scenario).parameter,
          .tensor = double(scenario.tensor),
          .context = double(scenario.context),
          .expert = double(scenario.expert),
          .sequence_parallel = scenario.sequence_parallel};
}

ModelGraph model_of(const Scenario& scenario, std::uint32_t slices) {
  check_unit(scenario);
  if (!scenario.model_spec.blocks.empty()) {
    return graph_of(scenario.model_spec, shape_of(scenario, slices), remaking_of(scenario));
  }
  ModelGraph model = scenario.model;
  if (scenario.recompute == RecomputeMode::selective) {
    for (Layer& layer : model.layers) make_selective(layer);
  }
  return model;
}

void fit_model(const Scenario& scenario, Layout& layout) {
  layout.tied_embedding_bytes = scenario.tied_embedding_bytes;
  if (scenario.model_spec.blocks.empty()) return;
  if (remaking_of(scenario) == Remaking::whole_stages) {
    keep_inputs_of_stages(layout.model, layout.partition);
  }
  const CellShape shape = shape_of(scenario, layout.slices);
  const double tied = tied_parameters(scenario, shape) * shape.parameter_size;
  if (tied == 0) return;
  if (ends_share_a_rank(layout.placement)) {
    layout.model.layers.back().parameter_bytes -= tied;  // one copy serves both
  } else {
    layout.tied_embedding_bytes = tied * kept_of(scenario).gradient_factor();
  }
}

}  // namespace penstock
