#include "experiments/run/layout/modules.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/stated_module.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/patterns/module_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// The scenario of the module alone, as a pipeline on devices of its own.
Scenario scenario_of(const LayoutModule& module, const Scenario& scenario, const Layout& pipeline) {
  Scenario own = scenario;
  own.source += ": /modules" + pointer_step(module.name);  // for error texts
  own.module.reset();
  own.document.reset();
  own.offload.reset();
  own.batch.reset();
  own.slow_machines.reset();
  own.chance = {};
  own.hardware.devices.reset();
  own.partition = {};
  if (scenario.model.by_kind()) own.partition.name = "balanced";
  ModelPart part = part_of(scenario.model, module.name, true);
  own.model.spec.blocks = std::move(part.blocks);
  own.model.graph = std::move(part.graph);
  own.model.tied_embedding_bytes = 0;
  for (Layer& layer : own.model.graph.layers) scale_stated(layer, module.share, module.share);
  if (pipeline.batch.microbatch) own.model.microbatch = *pipeline.batch.microbatch * module.share;
  own.parallel.pipeline = module.stages;
  own.parallel.chunks.reset();
  own.parallel.tensor = module.degrees.tensor;
  own.parallel.data = module.degrees.data;
  own.parallel.context = own.parallel.expert = 1;
  own.parallel.expert_tensor.reset();
  own.parallel.sequence = module.degrees.sequence_parallel;
  own.schedule = {};
  own.schedule.name = "1f1b";
  own.schedule.microbatches = pipeline.microbatches;
  own.recompute.microbatches.clear();
  if (module.frozen) own.recompute.mode = RecomputeMode::none;
  return own;
}

/// Without a backward one layer's activations are there at a time.
void freeze(ModelGraph& graph) {
  std::vector<Layer>& layers = graph.layers;
  const auto largest = std::ranges::max_element(layers, {}, &Layer::stash_bytes);
  for (Layer& layer : layers) {
    if (&layer != &*largest) layer.stash_bytes = 0;
    layer.freed_by_input_bytes = layer.pending_weight_bytes = layer.recomputed_bytes = 0;
  }
}

/// Who holds the weights of the module.
void set_holders(const LayoutModule& module, ModelGraph& graph) {
  for (Layer& layer : graph.layers) {
    layer.module = module.name;
    (module.shares_devices ? layer.copies : layer.spread) =
        module.shares_devices ? 1 / module.share : module.share;
  }
}

/// Groups of one rank that share a microbatch each put out a part of it, which the tensor group of
/// the next stage gathers unless it shards the sequence anyway.
void gather_shares(const Layer& last_of_module, const Layout& others, Layer& next) {
  const LayoutModule& module = *others.module;
  const bool shares = module.shares_devices && module.share < 1;
  if (!shares || others.degrees.sequence_parallel || others.spec.blocks.empty()) return;
  next.work.collectives.push_back({.pass = Pass::forward,
                                   .kind = CollectiveKind::all_gather,
                                   .group = Group::tensor,
                                   .bytes = last_of_module.activation_bytes / module.share});
}

/// The stages of the module and behind them those of the pipeline.
void join_partitions(const Layout& own, Layout& layout) {
  const auto count = static_cast<std::uint32_t>(own.model.layers.size());
  Partition cut = own.partition;
  for (std::vector<LayerIndex>& stage : layout.partition.stages) {
    for (LayerIndex& layer : stage) layer = LayerIndex{index(layer) + count};
    cut.stages.push_back(std::move(stage));
  }
  layout.partition = std::move(cut);
}

/// Keeps both parts, where microbatches need models of their own.
void keep_parts(Layout own, Layout& layout) {
  if (!layout.documents) return;
  check_tokens_count(own);
  own.documents = layout.documents;
  LayoutParts parts{std::move(own), layout};
  for (Layout* part : {&parts.module, &parts.others}) {
    part->schedule = passes_of(part->schedule);
    part->documents->lengths = {};  // of which there may be millions
  }
  layout.parts = std::make_shared<const LayoutParts>(std::move(parts));
}

std::unique_ptr<HardwareModel> make_hardware(const Layout& layout, const HardwareSpec& spec) {
  return find_named(cost_model_entries(), layout.hardware.cost_model)->make(spec);
}

/// What each stage takes, without contention: to place the module in bubbles.
std::vector<StageDurations> times_of(const Layout& layout) {
  const auto others = make_hardware(layout, layout.hardware.spec);
  const auto own = make_hardware(layout, hardware_of_module(layout));
  const Placement& placement = layout.placement;
  const ModuleEnd end = *module_end(layout);
  const auto sizes = stage_sizes(layout.model, layout.partition);
  std::vector<StageDurations> all;
  for (const Stage stage : placement.stages()) {
    const std::uint32_t number = placement.position(stage);
    const HardwareModel& hardware = number < layout.module->stages ? *own : *others;
    const PassTimes plain = [&](const Layer& layer, Pass pass) {
      return hardware.compute_us(layer, pass);
    };
    const PassTimes times = times_to_cut(plain, layout.recompute);
    StageDurations& stage_times = all.emplace_back();
    for (const Pass pass :
         {Pass::forward, Pass::backward, Pass::backward_input, Pass::backward_weight}) {
      for (const LayerIndex layer : layout.partition.stages[number]) {
        stage_times.passes[static_cast<std::size_t>(pass)] +=
            times(layout.model.layers[index(layer)], pass).value_or(0);
      }
    }
    if (!placement.after(stage) || placement.ranks() == 1) continue;
    const double received = number == end.stage ? end.received * end.sent : 1;
    const TransferTime handed =
        others->transfer(sizes[number].activation_bytes * received, Rank{0}, Rank{1});
    stage_times.handed_us = handed.occupies_us + handed.latency_us;
  }
  return all;
}

/// Where a scenario states the order of the others.
const char* order_pointer(const Scenario& scenario) {
  return scenario.schedule.file.empty() ? "/schedule/name" : "/schedule/file";
}

/// The placement and the order of both parts.
void join_orders(const Scenario& scenario, Layout& layout) {
  const LayoutModule& module = *layout.module;
  const ModuleRows rows{module.stages, module.ranks_in_turn, module.shares_devices, module.frozen};
  const Placement pipeline = layout.placement;
  try {
    layout.placement = with_module(pipeline, rows);
  } catch (const RuleError& error) {
    throw InputError(order_pointer(scenario), error.what());
  }
  layout.schedule = scenario.module->order == ModuleOrder::first
                        ? with_module(layout.schedule, pipeline, rows)
                        : with_module_in_bubbles(layout.schedule, pipeline, rows, times_of(layout));
  auto& again = layout.recompute.microbatches;
  if (!again.empty()) again.insert(again.begin(), module.stages, {});
}

void check_order(const Scenario& scenario, const Layout& pipeline) {
  if (pipeline.slices > 1) {
    throw InputError(order_pointer(scenario),
                     "a module goes with whole microbatches, and this rule slices them");
  }
  if (pipeline.schedule.weights().use == WeightUse::flushed) return;
  throw InputError(order_pointer(scenario),
                   "a module goes with schedules that flush, and this one is asynchronous");
}

}  // namespace

Scenario without_module(const Scenario& scenario, const std::string& name) {
  Scenario others = scenario;
  others.module.reset();
  ModelPart part = part_of(scenario.model, name, false);
  others.model.spec.blocks = std::move(part.blocks);
  others.model.graph = std::move(part.graph);
  return others;
}

Layout settle_with_module(const Scenario& scenario, const SettleOptions& options) {
  Scenario pipeline = without_module(scenario, scenario.module->name);
  SettleOptions own_options = options;
  std::optional<LayoutModule> module;
  const bool shares = scenario.module->devices == ModuleDevices::shared;
  about_file(scenario.source, [&] {
    check_module(scenario);
    if (shares) return;
    module = own_module(*scenario.module, stated_data(scenario));
    leave_devices(scenario, *module, pipeline);
  });
  own_options.module = module ? &*module : nullptr;
  Layout layout = settle(pipeline, own_options);
  about_file(scenario.source, [&] {
    check_order(scenario, layout);
    if (shares) layout.module = shared_module(*scenario.module, layout);
  });
  Layout own = settle(scenario_of(*layout.module, scenario, layout), options);
  about_file(scenario.source, [&] {
    keep_parts(own, layout);
    layout.model = joined_model(own, layout);
    join_partitions(own, layout);
    join_orders(scenario, layout);
  });
  return layout;
}

ModelGraph joined_model(const Layout& module, const Layout& others) {
  ModelGraph joined = module.model;
  if (others.module->frozen) freeze(joined);
  set_holders(*others.module, joined);
  const auto count = static_cast<std::uint32_t>(joined.layers.size());
  joined.edges.emplace_back(LayerIndex{count - 1}, LayerIndex{count});
  joined.layers.insert(joined.layers.end(), others.model.layers.begin(), others.model.layers.end());
  for (const auto& [from, to] : others.model.edges) {
    joined.edges.emplace_back(LayerIndex{index(from) + count}, LayerIndex{index(to) + count});
  }
  gather_shares(joined.layers[count - 1], others, joined.layers[count]);
  return joined;
}

std::optional<ModuleEnd> module_end(const Layout& layout) {
  if (!layout.module) return std::nullopt;
  const auto& [name, degrees, stages, shares, frozen, share, ranks] = *layout.module;
  const Degrees& next = layout.degrees;
  ModuleEnd end{.stage = stages - 1, .frozen = frozen};
  // Of what one pipeline reads in a microbatch: what a device of the module puts out, and what one
  // of the next stage receives.
  const double put_out = share / (degrees.sequence_parallel ? degrees.tensor : 1);
  double received = 1.0 / next.context;
  if (next.sequence_parallel || next.scatters) received /= next.tensor;
  if (shares) received = std::min(received, share);
  end.received = received / put_out;
  if (!shares) end.sent = std::max(1.0, double(next.group()) * share / degrees.tensor);
  return end;
}

std::vector<std::string> modules_of_stages(const Layout& layout) {
  std::vector<std::string> modules;
  for (const Stage stage : layout.placement.stages()) {
    const bool of_module = layout.placement.position(stage) < layout.module->stages;
    modules.push_back(of_module ? layout.module->name : "");
  }
  return modules;
}

HardwareSpec hardware_of_module(const Layout& layout) {
  HardwareSpec spec = layout.hardware.spec;
  spec.tensor = layout.module->degrees.tensor;
  spec.context = spec.expert = spec.expert_tensor = 1;
  return spec;
}

}  // namespace penstock
