#include "experiments/run/layout/layout_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/stack_memory.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Changes the costs of a layer to those with selective recomputation.
void make_selective(Layer& layer) {
  layer.recompute_us = layer.selective.recompute_us.value_or(layer.recompute_us);
  layer.stash_bytes = layer.selective.stash_bytes.value_or(layer.stash_bytes);
  layer.recomputed_bytes = layer.selective.recomputed_bytes.value_or(layer.recomputed_bytes);
}

RecomputeScope recompute_scope_of(const RecomputeSection& recompute) {
  switch (recompute.mode.value_or(RecomputeMode::none)) {
    case RecomputeMode::none:
      return RecomputeScope::nothing;
    case RecomputeMode::selective:
      return RecomputeScope::selected;
    case RecomputeMode::full:
      return recompute.unit == RecomputeUnit::stage ? RecomputeScope::whole_stages
                                                    : RecomputeScope::blocks;
    case RecomputeMode::except_last:
      return RecomputeScope::whole_stages;
  }
  return RecomputeScope::nothing;
}

void check_unit(const RecomputeSection& recompute, bool by_kind) {
  if (!recompute.unit) return;
  const char* why = nullptr;
  if (recompute.mode.value_or(RecomputeMode::none) == RecomputeMode::none) {
    why = "nothing is made again; it goes with a \"mode\"";
  } else if (!by_kind) {
    why =
        "layers that state what they cost state what is made again; a unit goes with layers by "
        "kind";
  } else if (recompute.mode == RecomputeMode::selective && recompute.unit == RecomputeUnit::stage) {
    why = "selective recomputation goes layer by layer";
  } else if (recompute.mode == RecomputeMode::except_last &&
             recompute.unit == RecomputeUnit::layer) {
    why = "except_last makes whole stages again";
  }
  if (why != nullptr) throw InputError("/recompute/unit", why);
}

/// Which layers are recomputed, and how many at a time. Refuses what has no layers to choose from.
RecomputedLayers recomputed_layers(const RecomputeSection& recompute, bool by_kind) {
  const RecomputedLayers layers{.first = recompute.layers.value_or(UINT32_MAX),
                                .together = recompute.together};
  if (layers.all_alone()) return layers;
  const std::string key = recompute.layers ? "/recompute/layers" : "/recompute/together";
  if (!by_kind) {
    throw InputError(key, "layers that state what they cost state what is recomputed");
  }
  if (recompute.unit == RecomputeUnit::stage) {
    throw InputError(key, "unit=stage recomputes whole stages; leave out one of them");
  }
  return layers;
}

/// Microbatches that are recomputed are listed for every stage of the order.
void check_recomputed_microbatches(const Layout& layout) {
  const auto& lists = layout.recompute.microbatches;
  const std::string pointer = "/recompute/microbatches";
  if (lists.empty()) return;
  if (layout.slices > 1) {
    throw InputError(pointer, "slices of a sequence are recomputed all or not at all");
  }
  if (lists.size() != layout.placement.stage_count()) {
    throw InputError(pointer,
                     fmt::format("it needs {}, one per stage; got {}",
                                 counted(layout.placement.stage_count(), "list"), lists.size()));
  }
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (lists[s].empty() || lists[s].back() < layout.microbatches) continue;
    throw InputError(fmt::format("{}/{}", pointer, s),
                     fmt::format("microbatch {} of {}: they are numbered from 0", lists[s].back(),
                                 layout.microbatches));
  }
}

/// Whether one rank runs both the first and the last stage of each copy of the model.
bool ends_share_a_rank(const Placement& placement) {
  const auto& chains = placement.chains();
  return std::ranges::all_of(chains, [&](const std::vector<Stage>& chain) {
    return placement.rank_of(chain.front(), Microbatch{0}) ==
           placement.rank_of(chain.back(), Microbatch{0});
  });
}

/// The second copy of the embedding weights, on the last stage: for a tied head, or for layers that
/// predict further tokens.
struct SecondEmbedding {
  std::size_t layer = 0;  // layer that holds it, or reads the copy of another layer on its rank
  double parameters = 0;  // on one device; 0: none
  bool in_layer = false;  // already counted in the layer's parameters
};

bool has_head(const BlockSpec& block) {
  return std::ranges::any_of(block.parts,
                             [](const LayerSpec& part) { return part.kind == "head"; });
}

SecondEmbedding second_embedding(const ModelSpec& spec, const CellShape& shape) {
  SecondEmbedding second;
  const auto& blocks = spec.blocks;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!has_head(blocks[i])) continue;
    const double tied = work_of(blocks[i], shape).tied_parameters;
    if (tied > 0 && !second.in_layer) second = {i, tied, !blocks[i].predicts_further};
  }
  return second;
}

/// If both ends are on one rank, they share one copy. Otherwise each end holds a copy, and they
/// exchange gradients.
void place_second_embedding(Layout& layout) {
  const SecondEmbedding second = second_embedding(layout.spec, layout.shape);
  const double bytes = second.parameters * layout.shape.parameter_size;
  if (bytes == 0) return;
  if (layout.tied_embedding_bytes > 0) {
    throw InputError("/model/tied_embedding_bytes",
                     "the model has a head that is tied to its embedding, which says as much");
  }
  const bool apart = !ends_share_a_rank(layout.placement);
  double& held = layout.model.layers[second.layer].parameter_bytes;
  if (second.in_layer && !apart) held -= bytes;
  if (!second.in_layer && apart) held += bytes;
  if (apart) layout.tied_embedding_bytes = bytes * layout.memory.kept.gradient_factor();
}

/// A tensor group that sends each activation in shares gathers it where it arrives: before F of a
/// stage's first layer, and before the backward of its last one.
void gather_received(Layout& layout) {
  if (!layout.degrees.scatters) return;
  const auto& stages = layout.partition.stages;
  std::vector<Layer>& layers = layout.model.layers;
  const auto gather = [&](Layer& layer, Pass pass, double bytes) {
    layer.work.collectives.push_back(
        {.pass = pass, .kind = CollectiveKind::all_gather, .group = Group::tensor, .bytes = bytes});
  };
  for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) {
    if (stays_on_rank(layout.placement, stage)) continue;
    Layer& last = layers[index(stages[stage].back())];
    gather(layers[index(stages[stage + 1].front())], Pass::forward, last.activation_bytes);
    gather(last, Pass::backward_input, last.activation_bytes);
  }
}

/// Weights of products that run in a low precision are gathered in it; the others, such as those of
/// embeddings, heads and norms, as they are.
void narrow_gathers(const Layout& layout, ModelGraph& model) {
  const double size = layout.memory.kept.parameter;
  const double narrow = narrow_size(layout, layout.hardware.spec.precision, size);
  for (Layer& layer : model.layers) {
    double weights = 0;
    for (const Kernel& kernel : layer.work.kernels) {
      const bool counts = kernel.narrows && kernel.pass == Pass::backward_weight;
      if (counts) weights += kernel.count * kernel.batch * kernel.rows * kernel.columns;
    }
    if (layer.parameter_bytes == 0) continue;
    const double share = std::min(1.0, weights * size / layer.parameter_bytes);
    layer.gathered_share = 1 - share * (1 - narrow / size);
  }
}

/// With `layers` or `together`, full recomputation knows the layers of a stage only once the model
/// is cut.
void recompute_some_layers(Layout& layout) {
  if (layout.recompute.mode != RecomputeMode::full) return;
  const RecomputedLayers layers = recomputed_layers(layout.recompute, true);
  if (layers.all_alone()) return;
  ModelGraph whole = graph_of(layout.spec, layout.shape, RecomputeScope::nothing);
  fit_layers(layout, whole);
  recompute_layers(layout.model, whole, layout.partition, layers);
}

/// What the first layers of each stage keep leaves for host memory; one at a time is still there.
/// What W reads stays once I has loaded it.
void offload_layers(Layout& layout) {
  for (const std::vector<LayerIndex>& stage : layout.partition.stages) {
    std::uint32_t left = layout.offloaded_layers;
    for (const LayerIndex number : stage) {
      Layer& layer = layout.model.layers[index(number)];
      if (left == 0) break;
      if (layer.at_an_end) continue;
      --left;
      layer.offloaded_bytes = layer.stash_bytes;
      layer.workspace_bytes += layer.stash_bytes;
      layer.pending_weight_bytes += layer.stash_bytes - layer.freed_by_input_bytes;
      layer.stash_bytes = layer.freed_by_input_bytes = 0;
    }
  }
}

/// Refuses shares that would split a token.
void check_shares(const CellShape& shape) {
  const double cells = shape.context * shape.slices, tokens = shape.sequence / cells;
  if (std::fmod(shape.sequence, cells) != 0) {
    throw InputError(
        shape.context > 1 ? "/parallel/context" : "/schedule/slices",
        fmt::format("a sequence of {} tokens does not divide by context {} times slices {}",
                    shape.sequence, shape.context, shape.slices));
  }
  if (!shape.sequence_parallel || std::fmod(tokens, shape.tensor) == 0) return;
  throw InputError("/parallel/sequence",
                   fmt::format("{} tokens of a cell do not divide by tensor {}; leave it out",
                               tokens, shape.tensor));
}

/// Errors about layers from a file name the place inside that file, below "/model/file".
std::vector<ModelGraph> graphs_of(const LayerInputs& inputs) {
  if (inputs.has_sequences) check_shares(inputs.shape);
  try {
    std::vector<ModelGraph> models =
        graphs_of(inputs.spec, inputs.shape, inputs.scopes, inputs.operators);
    if (!inputs.from_file) return models;
    for (ModelGraph& model : models) {
      for (Layer& layer : model.layers) layer.source = "/model/file";
    }
    return models;
  } catch (const InputError& error) {
    if (!inputs.from_file) throw;
    throw InputError("/model/file", error.text());
  }
}

void fit_layers_by_kind(Layout& layout) {
  recompute_some_layers(layout);
  if (recompute_scope_of(layout.recompute) == RecomputeScope::whole_stages) {
    keep_inputs_of_stages(layout.model, layout.partition);
  }
  place_second_embedding(layout);
  gather_received(layout);
}

}  // namespace

CellShape shape_of(const ModelSection& model, const Layout& layout) {
  const bool wide = model.dtype == "fp32" || model.dtype == "tf32";
  const double size = wide ? 4.0 : 2.0;
  const Degrees& degrees = layout.degrees;
  return {.sequence = layout.batch.sequence.value_or(1),
          .microbatch = layout.batch.microbatch.value_or(1),
          .slices = double(layout.slices),
          .activation_size = size,
          .kept_size = kept_size(layout, size),
          .attention_share =
              model.fp8_attention.value_or(false) ? narrow_size(layout, "fp8", size) / size : 1,
          .parameter_size = layout.memory.kept.parameter,
          .tensor = double(degrees.tensor),
          .context = double(degrees.context),
          .expert = double(degrees.expert),
          .expert_tensor = double(degrees.expert_tensor),
          .sequence_parallel = degrees.sequence_parallel};
}

std::size_t hash_of(const LayerInputs& inputs) {
  const CellShape& shape = inputs.shape;
  return hash_of_all(inputs.spec.blocks.size(), inputs.scopes.front(), shape.sequence,
                     shape.microbatch, shape.slices, shape.tensor, shape.context, shape.expert,
                     shape.tensor_of_experts());
}

ModelGraph model_of(const Scenario& scenario, const Batch& batch, const CellShape& shape,
                    LayerGraphs* known) {
  return std::move(models_of(scenario, {scenario.recompute}, batch, shape, known).front());
}

std::vector<ModelGraph> models_of(const Scenario& scenario,
                                  const std::vector<RecomputeSection>& recomputations,
                                  const Batch& batch, const CellShape& shape, LayerGraphs* known) {
  const bool by_kind = scenario.model.by_kind();
  for (const RecomputeSection& one : recomputations) {
    check_unit(one, by_kind);
    if (one.mode == RecomputeMode::full) recomputed_layers(one, by_kind);
  }
  if (by_kind) {
    LayerInputs inputs{.spec = scenario.model.spec,
                       .from_file = scenario.model.from_file,
                       .has_sequences = batch.sequence.has_value(),
                       .shape = shape,
                       .operators = scenario.recompute.operators};
    for (const auto& one : recomputations) inputs.scopes.push_back(recompute_scope_of(one));
    if (known == nullptr) return graphs_of(inputs);
    return *known->get(inputs, [&] { return graphs_of(inputs); });
  }
  std::vector<ModelGraph> models;
  for (const RecomputeSection& one : recomputations) {
    models.push_back(scenario.model.graph);
    if (one.mode != RecomputeMode::selective) continue;
    for (Layer& layer : models.back().layers) make_selective(layer);
  }
  return models;
}

void make_layers(Layout& layout, ModelSpec spec, const CellShape& shape) {
  layout.spec = std::move(spec);
  layout.shape = shape;
  layout.model = graph_of(layout.spec, shape, recompute_scope_of(layout.recompute),
                          layout.recompute.operators);
  fit_layers(layout, layout.model);
}

void refit_model(Layout& layout, ModelSpec spec, const CellShape& shape) {
  make_layers(layout, std::move(spec), shape);
  layout.tied_embedding_bytes = 0;
  fit_model(layout);
}

Schedule passes_of(const Schedule& schedule) {
  Schedule once(1);
  for (std::size_t pass = 0; pass < pass_count; ++pass) {
    if (!schedule.has(static_cast<Pass>(pass))) continue;
    once.on(Rank{0}).emplace_back(static_cast<Pass>(pass), Stage{0}, Microbatch{0});
  }
  return once;
}

void scale_stated(Layer& layer, double times, double bytes) {
  for (auto* us : {&layer.forward_us, &layer.backward_us, &layer.backward_input_us,
                   &layer.backward_weight_us, &layer.exchange_us, &layer.selective.recompute_us}) {
    if (*us) **us *= times;
  }
  layer.recompute_us *= times;
  for (auto* size : {&layer.selective.stash_bytes, &layer.selective.recomputed_bytes}) {
    if (*size) **size *= bytes;
  }
  for (double* size : {&layer.activation_bytes, &layer.stash_bytes, &layer.freed_by_input_bytes,
                       &layer.offloaded_bytes, &layer.recomputed_bytes, &layer.workspace_bytes,
                       &layer.pending_weight_bytes}) {
    *size *= bytes;
  }
}

void fit_layers(const Layout& layout, ModelGraph& model) {
  free_logits(layout, model);
  if (layout.degrees.narrow_gathers) narrow_gathers(layout, model);
}

void fit_model(Layout& layout) {
  check_recomputed_microbatches(layout);
  keep_exchanges_inside(layout);
  if (!layout.spec.blocks.empty()) fit_layers_by_kind(layout);
  offload_layers(layout);
}

}  // namespace penstock
