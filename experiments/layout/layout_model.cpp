#include "experiments/layout/layout_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/layout/training.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// From here on a layer costs what it does with selective recomputation.
void make_selective(Layer& layer) {
  layer.recompute_us = layer.selective.recompute_us.value_or(layer.recompute_us);
  layer.stash_bytes = layer.selective.stash_bytes.value_or(layer.stash_bytes);
  layer.recomputed_bytes = layer.selective.recomputed_bytes.value_or(layer.recomputed_bytes);
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
  if (scenario.recompute.value_or(RecomputeMode::none) == RecomputeMode::none) {
    why = "nothing is made again; it goes with a \"mode\"";
  } else if (scenario.model_spec.blocks.empty()) {
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

/// The last stage has the weights of the embedding too: in a head that is tied to it, or for what
/// predicts further tokens, however many.
struct SecondEmbedding {
  std::size_t layer = 0;  // that holds it, or reads it from the rank's other layers
  double parameters = 0;  // on one device; 0: there is none
  bool in_layer = false;  // the layer has it among its parameters already
};

bool has_head(const BlockSpec& block) {
  return std::any_of(block.parts.begin(), block.parts.end(),
                     [](const LayerSpec& part) { return part.kind == "head"; });
}

SecondEmbedding second_embedding(const Scenario& scenario, const CellShape& shape) {
  SecondEmbedding second;
  const auto& blocks = scenario.model_spec.blocks;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!has_head(blocks[i])) continue;
    const double tied = work_of(blocks[i], shape).tied_parameters;
    if (tied > 0 && !second.in_layer) second = {i, tied, !blocks[i].predicts_further};
  }
  return second;
}

/// Only I and W apart free a part of an activation before the rest; one that is moved elsewhere
/// moves whole.
void keep_whole_stash(Layout& layout) {
  if (layout.schedule.has(Pass::backward_weight) && !layout.schedule.has(Pass::evict)) return;
  for (Layer& layer : layout.model.layers) layer.freed_by_input_bytes = 0;
}

/// One copy serves both ends where they are on one rank; else both hold it and exchange gradients.
void place_second_embedding(const Scenario& scenario, const CellShape& shape, Layout& layout) {
  const SecondEmbedding second = second_embedding(scenario, shape);
  const double bytes = second.parameters * shape.parameter_size;
  if (bytes == 0) return;
  if (scenario.tied_embedding_bytes > 0) {
    throw InputError("/model/tied_embedding_bytes",
                     "the model has a head that is tied to its embedding, which says as much");
  }
  const bool apart = !ends_share_a_rank(layout.placement);
  double& held = layout.model.layers[second.layer].parameter_bytes;
  if (second.in_layer && !apart) held -= bytes;
  if (!second.in_layer && apart) held += bytes;
  if (apart) layout.tied_embedding_bytes = bytes * kept_of(scenario).gradient_factor();
}

/// Tokens are shared by whole ones.
void check_shares(const Scenario& scenario, const CellShape& shape) {
  const double cells = shape.context * shape.slices;
  if (!scenario.sequence || std::fmod(shape.sequence, cells) == 0) return;
  throw InputError(shape.context > 1 ? "/parallel/context" : "/schedule/slices",
                   fmt::format("a sequence of {} tokens does not divide by {} devices of a context "
                               "group times {} slices",
                               shape.sequence, shape.context, shape.slices));
}

/// The layers of a file have places in that file, which is not the one that settles their shape.
ModelGraph graph_of_file(const Scenario& scenario, const CellShape& shape) {
  try {
    ModelGraph model = graph_of(scenario.model_spec, shape, remaking_of(scenario));
    for (Layer& layer : model.layers) layer.source = "/model/file";
    return model;
  } catch (const InputError& error) {
    const std::string place = error.where().empty() ? "" : error.where() + ": ";
    throw InputError("/model/file", place + error.what());
  }
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
    const CellShape shape = shape_of(scenario, slices);
    check_shares(scenario, shape);
    if (scenario.model_from_file) return graph_of_file(scenario, shape);
    return graph_of(scenario.model_spec, shape, remaking_of(scenario));
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
  keep_whole_stash(layout);
  if (remaking_of(scenario) == Remaking::whole_stages) {
    keep_inputs_of_stages(layout.model, layout.partition);
  }
  place_second_embedding(scenario, shape_of(scenario, layout.slices), layout);
}

}  // namespace penstock
