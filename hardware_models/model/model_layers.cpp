#include "hardware_models/model/model_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool has_times(const LayerWork& work) { return work.forward_us.has_value(); }

/// A block has either times or kernels, not both.
void check_alike(const BlockSpec& block, const LayerWork& work, const LayerSpec& spec,
                 const LayerWork& part) {
  if (has_times(work) == has_times(part)) return;
  throw InputError(
      spec.source + "/kind",
      fmt::format("\"{}\" mixes measured and unmeasured parts; make a measured layer a "
                  "block of its own",
                  block.name));
}

bool holds(const Operators& operators, std::string_view name) {
  return std::ranges::find(operators, name) != operators.end();
}

/// Selective recomputation repeats what runs in F, from one place in a list to another.
template <class Work>
void select(std::vector<Work>& all, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (all[i].pass == Pass::forward) all[i].selective = true;
  }
}

void select_all(LayerWork& part) {
  select(part.kernels, 0, part.kernels.size());
  select(part.collectives, 0, part.collectives.size());
  part.kept_selective_bytes = std::min(part.input_bytes, part.kept_bytes);
}

void select_inside(LayerWork& part, const Operators& operators) {
  part.kept_selective_bytes = part.kept_bytes;
  part.uncoded_selective_bytes = part.uncoded_bytes;
  for (const NamedOperator& one : part.operators) {
    if (!holds(operators, one.name)) continue;
    select(part.kernels, one.kernel, one.kernels_end);
    select(part.collectives, one.collective, one.collectives_end);
    part.kept_selective_bytes -= one.kept_bytes;
    part.uncoded_selective_bytes -= one.uncoded_bytes;
  }
}

/// A part with what selective recomputation repeats of it. `again`: its input is the output of a
/// part that is recomputed.
LayerWork part_of(const LayerSpec& spec, const CellShape& shape, const Operators& operators,
                  bool again) {
  LayerWork part = work_of(spec, shape);
  if (holds(operators, spec.kind)) {
    select_all(part);
  } else {
    select_inside(part, operators);
  }
  if (again) {
    part.kept_selective_bytes = std::max(0.0, part.kept_selective_bytes - part.input_bytes);
  }
  return part;
}

/// What is kept from F to B, and what is recomputed before B. W's inputs stay until W.
void keep(Layer& layer, const LayerWork& work, RecomputeScope scope) {
  const double kept = scope == RecomputeScope::nothing ? work.kept_bytes
                      : scope == RecomputeScope::selected
                          ? work.kept_selective_bytes
                          : std::min(work.input_bytes, work.kept_bytes);
  const double again = work.kept_bytes - kept;
  const double needed = needed_by_weight(work);
  layer.stash_bytes = kept;
  layer.uncoded_bytes = scope == RecomputeScope::selected ? work.uncoded_selective_bytes
                        : scope == RecomputeScope::blocks ? 0
                                                          : work.uncoded_bytes;
  layer.pending_weight_bytes = work.pending_weight_bytes;
  layer.workspace_bytes = work.workspace_bytes;
  if (scope == RecomputeScope::whole_stages) {
    layer.recomputed_bytes = again;
    return;
  }
  layer.workspace_bytes += again;  // one block at a time
  layer.freed_by_input_bytes = std::max(0.0, kept - needed);
  layer.pending_weight_bytes += std::max(0.0, needed - kept);  // recomputed for I and kept
}

/// "block 3" is one of several called "block".
std::string without_number(const std::string& name) {
  const std::size_t space = name.rfind(' ');
  const bool numbered = space != std::string::npos && space + 1 < name.size() &&
                        name.find_first_not_of("0123456789", space + 1) == std::string::npos;
  return numbered ? name.substr(0, space) : name;
}

/// Blocks at an end are excluded from block-wise recomputation: they select nothing.
bool stands_outside(const BlockSpec& block, RecomputeScope scope) {
  return scope == RecomputeScope::blocks && is_at_an_end(block);
}

/// What is recomputed of one block.
RecomputeScope recompute_scope_of(const BlockSpec& block, RecomputeScope scope) {
  return stands_outside(block, scope) ? RecomputeScope::selected : scope;
}

/// The parts of a block, unless several devices share it: then each has different work.
std::vector<LayerPart> parts_of(const BlockSpec& block, const CellShape& shape) {
  std::vector<LayerPart> parts;
  if (shape.tensor * shape.context * shape.expert > 1) return parts;
  for (const LayerSpec& spec : block.parts) parts.push_back({spec.kind, all_numbers_of(spec)});
  return parts;
}

/// Who holds the same parameters. The experts of a layer are on `expert` times `expert_tensor`
/// devices, which may be more or fewer than the group of a rank has.
void set_copies(Layer& layer, const CellShape& shape) {
  const auto group = static_cast<std::uint64_t>(shape.tensor * shape.context);
  const auto shares = static_cast<std::uint64_t>(shape.expert * shape.tensor_of_experts());
  const std::uint64_t common = std::gcd(group, shares);
  layer.copies = shape.context;
  layer.expert_copies = static_cast<double>(group / common);
  layer.expert_spread = static_cast<double>(shares / common);
}

Layer layer_of(const BlockSpec& block, const CellShape& shape, const LayerWork& work,
               RecomputeScope of_model) {
  const RecomputeScope scope = recompute_scope_of(block, of_model);
  const double devices = shape.tensor * shape.context;
  Layer layer;
  layer.name = block.name;
  layer.source = block.parts.front().source;
  layer.module = block.module;
  layer.key = {
      .kind = block.parts.size() == 1 ? block.parts.front().kind : without_number(block.name),
      .parts = parts_of(block, shape),
      .examples = shape.microbatch / shape.slices,
      .sequence = shape.sequence};
  // A multi-token-prediction block passes its input on to the next layers.
  const bool passes_on_input = block.predicts_further && work.handing_on.empty();
  layer.activation_bytes = passes_on_input ? work.input_bytes : work.output_bytes;
  layer.expert_parameter_bytes = work.held_expert_parameters * shape.parameter_size;
  // Multi-token prediction reads embedding and head in place.
  const double held = work.held_parameters - (block.predicts_further ? work.tied_parameters : 0);
  layer.parameter_bytes = held * shape.parameter_size + layer.expert_parameter_bytes;
  keep(layer, work, scope);
  layer.forward_us = work.forward_us;
  layer.backward_us = work.backward_us;
  layer.backward_input_us = work.backward_input_us;
  layer.backward_weight_us = work.backward_weight_us;
  const bool all_again = scope == RecomputeScope::blocks || scope == RecomputeScope::whole_stages;
  if (all_again) layer.recompute_us = work.forward_us.value_or(0);
  layer.work = {.kernels = work.kernels,
                .collectives = work.collectives,
                .handing_on = work.handing_on,
                .repeated = scope == RecomputeScope::selected ? Repeated::selected : Repeated::all,
                .forward_flops = work.forward_flops / devices,
                .backward_flops = work.backward_flops / devices};
  set_copies(layer, shape);
  layer.cut_evenly = block.cut_evenly;
  layer.at_an_end = is_at_an_end(block) || block.predicts_further;
  return layer;
}

/// The layers of a stage that full recomputation makes again, in the order of F.
std::vector<LayerIndex> recomputed_of(const ModelGraph& model,
                                      const std::vector<LayerIndex>& stage) {
  std::vector<LayerIndex> recomputed;
  for (const LayerIndex layer : stage) {
    if (model.layers[index(layer)].work.repeated == Repeated::all) recomputed.push_back(layer);
  }
  std::ranges::sort(recomputed);
  return recomputed;
}

/// Recomputes consecutive layers together: only the first keeps its input, and all are restored at
/// a time. What W reads of the others' inputs stays until W.
void restore_together(ModelGraph& model, const ModelGraph& whole,
                      std::span<const LayerIndex> layers) {
  const auto restored = [&](LayerIndex layer) {
    return whole.layers[index(layer)].stash_bytes - model.layers[index(layer)].stash_bytes;
  };
  double others = 0;  // beside what a layer restores alone
  for (const LayerIndex layer : layers) others += whole.layers[index(layer)].stash_bytes;
  others -= model.layers[index(layers.front())].stash_bytes;
  for (const LayerIndex layer : layers) {
    model.layers[index(layer)].workspace_bytes += others - restored(layer);
  }
  for (const LayerIndex number : layers.first(layers.size() - 1)) {
    model.layers[index(number)].work.repeated = Repeated::output;
  }
  for (const LayerIndex number : layers.subspan(1)) {
    Layer& layer = model.layers[index(number)];
    layer.pending_weight_bytes += layer.stash_bytes - layer.freed_by_input_bytes;
    layer.stash_bytes = layer.freed_by_input_bytes = 0;
  }
}

}  // namespace

bool work_alike(const BlockSpec& one, const BlockSpec& other) {
  return std::ranges::equal(one.parts, other.parts, [](const LayerSpec& a, const LayerSpec& b) {
    return a.kind == b.kind && a.numbers == b.numbers;
  });
}

bool has_experts(const ModelSpec& spec) {
  return spec.any_part([](const LayerSpec& part) { return part.numbers.contains("experts"); });
}

bool is_at_an_end(const BlockSpec& block) {
  constexpr std::array<std::string_view, 6> ends{"embedding", "head",    "merger",
                                                 "norm",      "patches", "picture_embedding"};
  return std::ranges::all_of(block.parts, [&](const LayerSpec& part) {
    if (part.kind == "measured") return !block.cut_evenly;
    return std::ranges::find(ends, part.kind) != ends.end();
  });
}

LayerWork work_of(const BlockSpec& block, const CellShape& shape, const Operators& operators) {
  LayerWork work = part_of(block.parts.front(), shape, operators, false);
  for (std::size_t part = 1; part < block.parts.size(); ++part) {
    const bool again = holds(operators, block.parts[part - 1].kind);
    LayerWork next = part_of(block.parts[part], shape, operators, again);
    check_alike(block, work, block.parts[part], next);
    append(work, std::move(next));
  }
  return work;
}

ModelGraph graph_of(const ModelSpec& spec, const CellShape& shape, RecomputeScope scope,
                    const Operators& operators) {
  return std::move(graphs_of(spec, shape, {scope}, operators).front());
}

std::vector<ModelGraph> graphs_of(const ModelSpec& spec, const CellShape& shape,
                                  const std::vector<RecomputeScope>& scopes,
                                  const Operators& operators) {
  std::vector<ModelGraph> models(scopes.size());
  const BlockSpec* before = nullptr;
  LayerWork work;
  for (const BlockSpec& block : spec.blocks) {
    if (before == nullptr || !work_alike(*before, block)) work = work_of(block, shape, operators);
    before = &block;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      const bool outside = stands_outside(block, scopes[i]);
      models[i].layers.push_back(
          layer_of(block, shape, outside ? work_of(block, shape, {}) : work, scopes[i]));
    }
  }
  for (ModelGraph& model : models) model.connect_as_chain();
  return models;
}

void recompute_layers(ModelGraph& model, const ModelGraph& whole, const Partition& partition,
                      const RecomputedLayers& recomputed) {
  for (const std::vector<LayerIndex>& stage : partition.stages) {
    const std::vector<LayerIndex> all = recomputed_of(model, stage);
    const std::size_t count = std::min<std::size_t>(all.size(), recomputed.first);
    for (std::size_t i = 0; i < count; i += recomputed.together) {
      const std::size_t end = std::min<std::size_t>(count, i + recomputed.together);
      restore_together(model, whole, std::span(all).subspan(i, end - i));
    }
    for (const LayerIndex layer : std::span(all).subspan(count)) {
      model.layers[index(layer)] = whole.layers[index(layer)];
      model.layers[index(layer)].work.repeated = Repeated::nothing;
    }
  }
}

void keep_inputs_of_stages(ModelGraph& model, const Partition& partition) {
  for (const std::vector<LayerIndex>& stage : partition.stages) {
    for (std::size_t i = 1; i < stage.size(); ++i) {
      model.layers[index(stage[i - 1])].work.repeated = Repeated::output;
      Layer& layer = model.layers[index(stage[i])];
      layer.recomputed_bytes += layer.stash_bytes;
      layer.stash_bytes = 0;
    }
  }
}

}  // namespace penstock
