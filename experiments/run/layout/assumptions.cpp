#include "experiments/run/layout/assumptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

/// A training command leaves the number of data replicas to the number of devices.
std::string data_note(const Scenario& scenario, const Layout& layout) {
  const ParallelSection& parallel = scenario.parallel;
  const std::uint32_t data = layout.degrees.data;
  if (scenario.hardware.devices && parallel.pipeline) {
    return fmt::format("data = {}: {} over {} per copy of the pipeline", data,
                       counted(*scenario.hardware.devices, "device"), devices_of(layout) / data);
  }
  return fmt::format(
      "data = {} is assumed{}, since the command states no number of devices; set "
      "/hardware/devices or /parallel/data",
      data, data > 1 ? ", the fewest replicas that hold all experts" : "");
}

std::string overlap_note(const Layout& layout) {
  return layout.memory.zero < 2 || (layout.memory.zero == 2 && keeps_whole_gradients(layout))
             ? "gradient reduction overlaps with compute; /parallel/overlap_sums=false starts it "
               "after a rank's last backward"
             : "ZeRO collectives overlap with compute; with /parallel/overlap_sums=false each "
               "pass waits for its own";
}

/// Whether replicas update shares of their weights and gather the others'.
bool gathers_new_weights(const Layout& layout) {
  const bool update = layout.memory.zero == 1 || layout.memory.zero == 2;
  return update && !layout.schedule.has(Pass::update);
}

/// The first layer that states its times and is recomputed in none, or nullptr.
const Layer* recomputed_for_nothing(const Layout& layout, const Recomputing& recomputing) {
  if (layout.recompute.mode == RecomputeMode::selective) return nullptr;
  for (std::uint32_t stage = 0; stage < layout.partition.stages.size(); ++stage) {
    if (!recomputing.of_stage(stage)) continue;
    for (const LayerIndex number : layout.partition.stages[stage]) {
      const Layer& layer = layout.model.layers[index(number)];
      const bool stated = layer.forward_us && layer.work.kernels.empty();
      if (stated && layer.recomputed_bytes > 0 && layer.recompute_us == 0) return &layer;
    }
  }
  return nullptr;
}

void add_recomputation_notes(const Layout& layout, std::vector<std::string>& notes) {
  const RecomputeSection& stated = layout.recompute;
  const bool asked = stated.mode.value_or(RecomputeMode::none) != RecomputeMode::none;
  if (!layout.schedule.has_backward() || (!asked && stated.microbatches.empty())) return;
  const Recomputing recomputing = extras_of(layout).recomputing;
  if (std::ranges::count(recomputing.stages, true) == 0) {
    notes.emplace_back(
        "/recompute/mode has no effect: no layer has anything to recompute; layers that state "
        "their times need recompute_us");
  }
  if (const Layer* layer = recomputed_for_nothing(layout, recomputing)) {
    notes.push_back(fmt::format("{} is recomputed in no time: it states no recompute_us",
                                layer->source.empty() ? layer->name : layer->source));
  }
  const bool some = recomputing.except_last || !recomputing.microbatches.empty();
  if (some && layout.codec.stash.index() != 0 && std::ranges::count(recomputing.stages, true) > 0) {
    notes.emplace_back(
        "the codec packs what recomputed microbatches keep; the others keep the rest unpacked");
  }
}

/// Experts are split over the tensor group where their groups fit beside it.
std::string expert_tensor_note(const Degrees& degrees) {
  return fmt::format(
      "expert_tensor = 1: expert {} does not divide data x context, {}, so experts are whole on a "
      "device and their group spans tensor groups (/parallel/expert_tensor)",
      degrees.expert, std::uint64_t{degrees.data} * degrees.context);
}

/// Whether a scenario states what is gathered at a time, and nothing is.
bool states_idle_gathers(const Scenario& scenario, const Layout& layout) {
  const MemorySection& memory = scenario.memory;
  return (memory.gathered_bytes || memory.prefetch_layers) && !gathers_weights(layout);
}

}  // namespace

std::vector<std::string> assumptions_of(const Scenario& scenario, const Layout& layout) {
  std::vector<std::string> notes;
  if (!scenario.parallel.data) notes.push_back(data_note(scenario, layout));
  const bool cut = !scenario.model.stages_given || !scenario.partition.stages.empty();
  if (!cut && scenario.partition.name != PartitionSection().name) {
    notes.push_back(
        fmt::format("the model's stages are given, so \"{}\" has nothing to cut; give "
                    "/model/layers for a cut",
                    scenario.partition.name));
  }
  const Degrees& degrees = layout.degrees;
  if (!scenario.parallel.expert_tensor && degrees.expert_tensor < degrees.tensor) {
    notes.push_back(expert_tensor_note(degrees));
  }
  const bool reduces =
      shares_weights(layout) && layout.schedule.has_backward() && has_weights(layout.model);
  if (reduces && !scenario.parallel.overlap_sums && !layout.communication.gradients) {
    notes.push_back(overlap_note(layout));
  }
  if (scenario.overheads.warm_up_us.value_or(0) > 0) {
    notes.push_back(fmt::format("the first step takes {} ms longer (/overheads/warm_up_us)",
                                number_text(*scenario.overheads.warm_up_us / 1e3)));
  }
  if (reduces && gathers_new_weights(layout) && overlaps_gathers(layout) &&
      !scenario.parallel.overlap_gathers) {
    notes.emplace_back(
        "new weights are gathered behind the first forwards of the next step, as the stack does; "
        "/parallel/overlap_gathers=false waits for them");
  }
  if (reduces && zero_level(layout) > 1 && keeps_whole_gradients(layout) &&
      !layout.communication.gradients && !layout.memory.whole_gradients) {
    notes.emplace_back(
        "whole gradients are kept until the last microbatch, as FSDP in a pipeline does; "
        "/memory/whole_gradients=false reduces them after each backward");
  }
  if (states_idle_gathers(scenario, layout)) {
    notes.emplace_back(
        "/memory/gathered_bytes and prefetch_layers have no effect: each device keeps all of its "
        "weights; raise /parallel/data, or lower /memory/shard_groups");
  }
  if (layout.offloaded_layers > 0) {
    notes.emplace_back(
        "offloaded layers move at the full rate of the link between a device and its host, and "
        "slow no other transfer");
  }
  add_recomputation_notes(layout, notes);
  const bool fuses = layout.overlap == Overlap::fused, joined = has_joined_cells(layout.schedule);
  if (fuses && !joined) {
    notes.emplace_back("/schedule/overlap=fused has no effect: the order has no overlap cells");
  }
  if (fuses && joined && layout.spec.blocks.empty()) {
    notes.emplace_back(
        "a fused overlap cell takes as long as its longer part, since layers state their times; "
        "two compute kernels on one device would share it");
  }
  return notes;
}

}  // namespace penstock
