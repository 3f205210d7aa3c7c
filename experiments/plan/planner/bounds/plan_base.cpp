#include "experiments/plan/planner/bounds/plan_base.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/modules.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

std::string_view without_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return last == std::string_view::npos ? name : name.substr(0, last + 1);
}

bool alike(const BlockSpec& one, const BlockSpec& other) {
  return one.cut_evenly == other.cut_evenly && one.predicts_further == other.predicts_further &&
         without_number(one.name) == without_number(other.name) && work_alike(one, other);
}

/// Keeps each different block once.
void reduce_blocks(PlanBase& base) {
  std::vector<BlockSpec> different;
  for (const BlockSpec& block : base.scenario.model.spec.blocks) {
    const auto known = std::find_if(different.begin(), different.end(),
                                    [&](const BlockSpec& one) { return alike(one, block); });
    base.reduced_layer.push_back(static_cast<std::uint32_t>(known - different.begin()));
    if (known == different.end()) different.push_back(block);
  }
  base.reduced.model.spec.blocks = std::move(different);
}

/// What placing a second embedding asks for.
ModelSpec only_heads(ModelSpec spec) {
  for (BlockSpec& block : spec.blocks) {
    const bool head = std::any_of(block.parts.begin(), block.parts.end(),
                                  [](const LayerSpec& part) { return part.kind == "head"; });
    if (!head) block.parts.clear();
  }
  return spec;
}

/// Whether chance may make an action or a transfer shorter than its price.
bool may_shorten(const Scenario& scenario) {
  const auto shortens = [](const auto& one) { return one.factor < 1; };
  const auto any = [&](const auto& all) { return std::any_of(all.begin(), all.end(), shortens); };
  const Chance& chance = scenario.chance;
  return chance.varies() || any(chance.stragglers) || any(chance.slow_links);
}

/// Whether what layers keep follows from their place in a stage.
bool keeps_by_place(const Scenario& scenario) {
  const bool some_again = scenario.recompute.layers || scenario.recompute.together > 1;
  return some_again || (scenario.offload && scenario.offload->layers);
}

/// Bounds are of a rule's order on its own placement, in which each cell takes its price or longer,
/// and of a model that is cut as one.
bool covers(const Scenario& scenario) {
  const bool own_order = scenario.schedule.policy.empty() && scenario.schedule.file.empty();
  return own_order && !scenario.module && scenario.partition.ranks.empty() &&
         scenario.recompute.microbatches.empty() && !keeps_by_place(scenario) &&
         !may_shorten(scenario);
}

/// What is stated for ZeRO-2 and -3; other levels do not look at it.
void take_sharded_memory(const MemorySection& stated, DeviceMemory& memory) {
  memory.shard_groups = stated.shard_groups.value_or(1);
  memory.gathered_bytes = stated.gathered_bytes;
  memory.prefetch_layers = stated.prefetch_layers;
  memory.whole_gradients = stated.whole_gradients;
}

/// Degrees of layouts multiply to all devices.
void refuse_own_devices(const Scenario& scenario) {
  const auto& module = scenario.module;
  if (!module || module->devices != ModuleDevices::own) return;
  throw UsageError(
      "--set /modules: an encoder gets devices of its own here where that is faster, and their "
      "number cannot be stated; leave it out");
}

}  // namespace

PlanBase plan_base(const TrainingTask& task, Catalogue catalogue) {
  PlanBase base;
  base.task = task;
  base.catalogue = std::move(catalogue);
  const LayoutChoice simple = stated_layout(task);
  base.scenario = parse_scenario(layout_document(task, simple), task.source);
  refuse_own_devices(base.scenario);
  if (!task.without.empty()) base.scenario = without_module(base.scenario, task.without);
  base.heads = only_heads(base.scenario.model.spec);
  base.reduced = base.scenario;
  if (task.by_kind) {
    reduce_blocks(base);
  } else {
    for (std::uint32_t i = 0; i < base.scenario.model.graph.layers.size(); ++i) {
      base.reduced_layer.push_back(i);
    }
  }
  LayoutChoice whole = simple;
  whole.zero = 0;
  base.settled = settle(with_choice(base.reduced, task, whole), {.catalogue = &base.catalogue});
  take_sharded_memory(base.scenario.memory, base.settled.memory);
  base.bare = base.settled;
  base.bare.model = {};
  base.bare.spec = {};
  base.sharded = base.settled.hardware;
  if (!task.by_kind) return base;  // without a stack
  LayoutChoice sharded = simple;
  sharded.zero = 3;
  base.sharded =
      settle(with_choice(base.reduced, task, sharded),
             {.catalogue = &base.catalogue, .clusters = base.settled.hardware.spec.clusters})
          .hardware;
  return base;
}

Layout without_layers(const PlanBase& base, const LayoutChoice& choice, std::uint32_t slices) {
  const Scenario scenario = with_choice(base.reduced, base.task, choice);
  Layout layout = base.bare;
  if (runs_sharded(choice.zero)) layout.hardware = base.sharded;
  layout.degrees = settle_degrees(scenario);
  layout.batch = settle_batch(scenario, layout.degrees);
  layout.microbatches = choice.microbatches;
  layout.slices = slices;
  layout.recompute = scenario.recompute;
  layout.offloaded_layers = scenario.offload ? scenario.offload->layers.value_or(0) : 0;
  layout.codec = scenario.codec;
  layout.memory.zero = choice.zero;
  spread_ranks(base.scenario, layout);
  layout.shape = shape_of(scenario.model, layout);
  return layout;
}

Layout with_shape(const PlanBase& base, const LayoutChoice& choice, std::uint32_t slices) {
  Layout layout = without_layers(base, choice, slices);
  layout.model = model_of(with_choice(base.reduced, base.task, choice), layout.batch, layout.shape);
  fit_layers(layout, layout.model);
  return layout;
}

void leave_marks_of_kernels(Layer& layer) {
  const bool any = !layer.work.kernels.empty();
  const bool selective = std::any_of(layer.work.kernels.begin(), layer.work.kernels.end(),
                                     [](const Kernel& kernel) { return kernel.selective; });
  // Their memory goes too: there may be 100,000 such layers.
  layer.work.kernels = std::vector<Kernel>();
  layer.work.collectives = std::vector<Collective>();
  layer.key.parts = {};
  if (any) layer.work.kernels.push_back({.selective = selective});
}

ModelGraph whole_model(const PlanBase& base, const ModelGraph& reduced) {
  ModelGraph model;
  for (const std::uint32_t number : base.reduced_layer) {
    model.layers.push_back(reduced.layers[number]);
  }
  if (base.task.by_kind) {
    model.connect_as_chain();
  } else {
    model.edges = reduced.edges;
  }
  return model;
}

BoundBy bound_by(const PlanBase& base, const std::string& partition) {
  if (!covers(base.scenario)) return BoundBy::nothing;
  const bool stated = base.scenario.model.stages_given || !base.scenario.partition.stages.empty();
  if (stated) return BoundBy::priced_cut;
  if (find_named(partitioner_entries(), partition)->follows_order) return BoundBy::equal_parts;
  return partition == "even" ? BoundBy::even_cut : BoundBy::priced_cut;
}

}  // namespace penstock
