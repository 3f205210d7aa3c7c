#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/assumptions.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/modules.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/layout/written.hpp"
#include "hardware_models/links/wiring.hpp"
#include "hardware_models/spec/machine.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/patterns/offload.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

void check_stages(const Layout& layout) {
  const std::size_t stages = layout.placement.chains().front().size();
  const std::size_t layers = layout.model.layers.size();
  if (layers >= stages) return;
  throw InputError(
      "/schedule/name",
      fmt::format("{} has {} stages on {} ranks, and the times of the model's file are of {} "
                  "layers; measure a run with {} stages too: penstock trace takes the traces of "
                  "several runs",
                  layout.name, stages, layout.placement.ranks(), layers, stages));
}

void check_split(const Layout& layout) {
  if (!layout.schedule.has(Pass::backward_input)) return;
  for (const Layer& layer : layout.model.layers) {
    if (layer.backward_input_us && layer.backward_weight_us) continue;
    throw InputError(
        "/schedule/name",
        fmt::format("{} splits the backward into I and W, and \"{}\" of the model's file has "
                    "backward_us alone; measure a run that splits it too, such as zb-h1: penstock "
                    "trace takes the traces of several runs",
                    layout.name, shortened(layer.name)));
  }
}

/// Refuses a named schedule that a model of measured times from a file cannot run, with the way on:
/// more stages than there are layers, or a split backward where only B was measured.
void check_measured_stages(const Scenario& scenario, const Layout& layout) {
  const bool measured = scenario.model.from_file && !scenario.model.by_kind();
  if (!measured || layout.rule == nullptr) return;
  bool stated = true;  // layers without times are priced by their work
  for (const Layer& layer : layout.model.layers) stated = stated && layer.forward_us.has_value();
  if (!stated) return;
  check_stages(layout);
  check_split(layout);
}

/// By squaring: the same on every computer.
double power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

/// Slows the middle rank by the expected factor of the slowest machine of the layout, which all
/// replicas wait for, and notes it. Throws InputError where the layout has no machines.
void expect_slow_machines(const Scenario& scenario, Layout& layout) {
  if (!scenario.slow_machines) return;
  const auto& [share, factor] = *scenario.slow_machines;
  const auto& machine = layout.hardware.spec.machine;
  if (!machine) {
    throw InputError("/chance/slow_machines",
                     "the hardware has no machines; name one of penstock list hardware, or use "
                     "\"stragglers\"");
  }
  const std::uint64_t machines = (devices_of(layout) + machine->devices - 1) / machine->devices;
  const double any = 1 - power(1 - share, machines);
  const double expected = 1 + (factor - 1) * any;
  const Rank middle{layout.placement.ranks() / 2};
  layout.chance.stragglers.push_back({.rank = middle, .factor = expected});
  layout.notes.push_back(
      fmt::format("a slow machine is among {} with {:.1f} % probability: rank {} takes {:.4g} "
                  "times as long (/chance/slow_machines)",
                  machines, 100 * any, index(middle), expected));
}

/// Throws where the scenario states a key that does not apply.
void check_applies(const Scenario& scenario, const std::string& pointer, bool applies,
                   const char* instead) {
  if (applies) return;
  if (!scenario.document->contains(nlohmann::json::json_pointer(pointer))) return;
  throw InputError(pointer, instead);
}

/// Layers by kind have weights, and a level of ZeRO chooses their stack even without replicas.
void check_zero(const Scenario& scenario, const Layout& layout) {
  if (scenario.model.by_kind() || layout.memory.zero == 0) return;
  check_applies(
      scenario, "/memory/zero", has_weights(layout.model),
      "ZeRO shards weights, and no stage states any; state parameter_bytes, or set zero to 0");
  check_applies(scenario, "/memory/zero", shares_weights(layout),
                "ZeRO shards over replicas, and there are none; set /parallel/data, or zero to 0");
}

/// Each group of replicas holds everything, as many experts as there are too.
void check_shard_groups(const Layout& layout) {
  const std::uint32_t groups = layout.memory.shard_groups;
  if (groups == 1) return;
  constexpr const char* key = "/memory/shard_groups";
  const std::uint32_t data = layout.degrees.data;
  if (data % groups != 0) {
    throw InputError(key, fmt::format("{} data replicas are not divided into {} groups; give a "
                                      "divisor",
                                      data, groups));
  }
  for (const Layer& layer : layout.model.layers) {
    if (layer.expert_parameter_bytes == 0 || layer.expert_spread <= data / groups) continue;
    throw InputError(key, fmt::format("experts lie over {:g} data replicas, and a group has {}; "
                                      "give fewer groups, or set /parallel/expert lower",
                                      layer.expert_spread, data / groups));
  }
}

/// Stages that are given need no partitioner; one that is named has nothing to cut.
void check_cut(const Scenario& scenario) {
  if (!scenario.model.stages_given && scenario.partition.stages.empty()) return;
  const auto section = scenario.document->value("partition", nlohmann::json::object());
  for (const auto& [key, value] : section.items()) {
    const bool applies =
        key == "description" || key == "name" || key == "stages" || key == "file" || key == "ranks";
    if (applies) continue;
    throw InputError(
        "/partition/" + key,
        "the stages are given, so no partitioner cuts them and reads it; leave it out");
  }
}

/// "full" means all stages that state a time for it, if any do; a list of microbatches means more.
void check_recompute(const Scenario& scenario, const Layout& layout) {
  if (layout.recompute.microbatches.empty()) return;
  const std::vector<bool> stages = extras_of(layout).recomputing.stages;
  check_applies(scenario, "/recompute/microbatches",
                std::ranges::find(stages, true) != stages.end(),
                "no stage recomputes anything; its layers need recompute_us");
}

/// Whether a layer has a kernel that `test` looks for.
template <class Test>
bool any_kernel(const Layout& layout, Test test) {
  const auto& layers = layout.model.layers;
  return std::ranges::any_of(
      layers, [&](const Layer& layer) { return std::ranges::any_of(layer.work.kernels, test); });
}

/// What runs in a low precision needs a dtype that has one.
void check_narrow(const Scenario& scenario, const Layout& layout) {
  const bool narrow = recipe_of(layout.hardware.spec.precision) != nullptr;
  const bool attention = scenario.model.fp8_attention.value_or(false);
  check_applies(scenario, "/model/fp8_attention", narrow || !attention,
                "attention runs in fp8 beside products in low precision; set /model/dtype to fp8, "
                "fp8-block, mxfp8 or nvfp4");
  const auto flash = [](const Kernel& kernel) { return kernel.kind == KernelKind::attention; };
  check_applies(scenario, "/model/fp8_attention", !attention || any_kernel(layout, flash),
                "only flash attention runs in fp8, and no layer has any");
  const bool gathers = layout.degrees.narrow_gathers;
  check_applies(scenario, "/parallel/narrow_gathers", !gathers || narrow,
                "weights are as wide as their products; set /model/dtype to fp8, fp8-block, mxfp8 "
                "or nvfp4");
  check_applies(scenario, "/parallel/narrow_gathers", !gathers || layout.memory.zero > 0,
                "without /memory/zero no weights are gathered");
}

/// A shared expert runs beside all-to-alls that nothing else hides.
void check_shared_expert(const Scenario& scenario, const Layout& layout) {
  const bool overlaps = layout.degrees.overlaps_shared;
  const auto shared = [](const Kernel& kernel) { return kernel.shared; };
  check_applies(scenario, "/parallel/overlap_shared_expert",
                !overlaps || any_kernel(layout, shared),
                "no layer of experts has a shared one (shared_intermediate)");
  check_applies(scenario, "/parallel/overlap_shared_expert",
                !overlaps || !layout.degrees.overlaps_experts,
                "overlap_experts already hides all-to-alls; state one of the two");
}

/// Refuses keys that a scenario states and its layout would ignore. Throws InputError without a
/// file's name.
void refuse_idle_keys(const Scenario& scenario, const Layout& layout) {
  if (!scenario.document) return;
  check_zero(scenario, layout);
  check_cut(scenario);
  check_recompute(scenario, layout);
  check_narrow(scenario, layout);
  check_shared_expert(scenario, layout);
  const std::uint32_t zero = layout.memory.zero;
  check_applies(scenario, "/parallel/overlap_gathers", zero == 1 || zero == 2,
                "new weights are gathered after an update with /memory/zero 1 and 2 only");
  check_applies(scenario, "/memory/whole_gradients", shares_weights(layout),
                "without replicas there is no gradient to reduce");
  const Communication& comms = layout.communication;
  for (const char* key :
       {"/memory/whole_gradients", "/parallel/overlap_sums", "/parallel/bucket_bytes"}) {
    check_applies(scenario, key, !comms.gradients,
                  "gradients of a stage are reduced once, where the order has its REDUCE_GRAD");
  }
  for (const char* key : {"/memory/prefetch_layers", "/memory/gathered_bytes"}) {
    check_applies(scenario, key, !comms.weights,
                  "the weights of a stage are gathered where the order has its UNSHARD");
  }
  const bool by_times = !scenario.model.by_kind();
  check_applies(scenario, "/parallel/sequence", !(by_times && layout.degrees.sequence_parallel),
                "layers that state their times have no norms or dropout to shard");
  check_applies(scenario, "/parallel/overlap_experts",
                !(layout.degrees.overlaps_experts && by_times),
                "layers that state their times have no experts");
  const bool fused = layout.overlap == Overlap::fused && has_joined_cells(layout.schedule);
  check_applies(scenario, "/parallel/overlap_experts", !(layout.degrees.overlaps_experts && fused),
                "fused cells already hide all-to-alls; state one of the two");
  check_applies(
      scenario, "/parallel/bucket_bytes", zero < 3 && layout.degrees.overlaps_sums,
      "buckets fill while a backward runs; they need /parallel/overlap_sums, and /memory/zero "
      "below 3");
}

/// Offloads activations beyond each rank's limit to its host and fetches them back.
Schedule with_offload(const Order& order, const OffloadSection& section) {
  if (order.policy != nullptr) {
    throw InputError("/offload/keep",
                     "it goes with an order that is known before; a policy decides as it runs");
  }
  Offload offload{*section.keep};
  offload.ahead = section.ahead.value_or(offload.ahead);
  try {
    return offloaded(order.schedule, offload);
  } catch (const RuleError& error) {
    throw InputError("/offload", error.what());
  }
}

void check_partitioner(const Scenario& scenario) {
  const std::string& name = scenario.partition.name;
  if (find_named(partitioner_entries(), name) != nullptr) return;
  throw InputError("/partition/name", unknown_text(fmt::format("name \"{}\"", name), name,
                                                   names_of(partitioner_entries())));
}

Conditions conditions_of(const Scenario& scenario) {
  const TransferRules& transfers = scenario.hardware.transfers;
  return {.network = {},
          .stall_above_bytes = {},
          .compute_slowdown = scenario.overheads.compute_slowdown,
          .transfer_slowdown = scenario.overheads.transfer_slowdown,
          .blocking_sends = transfers.blocking,
          .rendezvous = transfers.rendezvous,
          .sends_in_flight = transfers.sends_in_flight,
          .receives_in_flight = transfers.receives_in_flight};
}

OverheadsSection overheads_of(const Scenario& scenario, const std::optional<Machine>& machine) {
  OverheadsSection overheads = scenario.overheads;
  if (machine && !overheads.warm_up_us) overheads.warm_up_us = machine->warm_up_us;
  return overheads;
}

void take_order(Order order, Layout& layout) {
  layout.name = std::move(order.name);
  layout.placement = std::move(order.placement);
  layout.schedule = std::move(order.schedule);
  layout.communication = std::move(order.communication);
  layout.microbatches = order.microbatches;
  layout.slices = order.slices;
  layout.rule = order.rule;
  layout.policy = order.policy;
  layout.options = std::move(order.options);
  if (!order.note.empty()) layout.notes.push_back(std::move(order.note));
}

void note_seating(Layout& layout) {
  const HardwareSpec& spec = layout.hardware.spec;
  if (!spec.machine || !spec.machine->seating) return;
  const Seating& seating = *spec.machine->seating;
  layout.notes.push_back(fmt::format("{} on {} × {}: {}", counted(spec.devices(), "device"),
                                     seating.machines, spec.machine->name, seating_text(seating)));
}

/// Settles everything that does not depend on the order.
Layout without_order(const Scenario& scenario, const SettleOptions& options) {
  Layout layout;
  layout.source = scenario.source;
  about_file(scenario.source, [&] {
    check_order_options(scenario);
    layout.degrees = settle_degrees(scenario);
    layout.batch = settle_batch(scenario, layout.degrees);
  });
  // Errors name its own files.
  layout.hardware = settle_hardware(scenario, options.catalogue, options.machines);
  layout.hardware.spec.clusters =
      options.clusters != nullptr ? options.clusters : std::make_shared<Clusters>();
  const auto& machine = layout.hardware.spec.machine;
  about_file(scenario.source, [&] { layout.memory = settle_memory(scenario.memory, machine); });
  layout.allows_stale = options.allows_stale;
  layout.overlap = scenario.schedule.overlap;
  layout.recompute = scenario.recompute;
  if (scenario.offload) layout.offloaded_layers = scenario.offload->layers.value_or(0);
  layout.codec = scenario.codec;
  layout.overheads = overheads_of(scenario, machine);
  layout.conditions = conditions_of(scenario);
  layout.chance = scenario.chance;
  layout.notes = scenario.model.notes;
  layout.notes.insert(layout.notes.end(), layout.hardware.notes.begin(),
                      layout.hardware.notes.end());
  return layout;
}

Order order_of(const Scenario& scenario, const Layout& layout, double bytes_per_cell) {
  const std::uint32_t microbatches = *layout.batch.microbatches;
  if (!scenario.schedule.policy.empty()) {
    return order_by_policy(scenario, layout.degrees, microbatches, bytes_per_cell);
  }
  return order_by_rule(scenario, layout.degrees, microbatches, bytes_per_cell);
}

}  // namespace

Layout settle(const Scenario& scenario, const SettleOptions& options) {
  if (scenario.module) return settle_with_module(scenario, options);
  Layout layout = without_order(scenario, options);
  if (options.module != nullptr) layout.module = *options.module;
  const bool by_file = !scenario.schedule.file.empty();
  Order order;
  if (by_file) order = order_by_file(scenario);  // errors name the order's file
  const std::vector<bool> exchanges = order.exchanges;
  about_file(scenario.source, [&] {
    if (by_file) {
      check_against_order(scenario, layout.degrees, layout.batch, order);
    } else {
      const double documents = scenario.batch ? CellBytes::documents(layout.degrees.data) : 0;
      order = order_of(scenario, layout, options.bytes_per_cell + documents);
    }
    if (order.communication.written()) check_beside_written(scenario);
    if (scenario.offload && scenario.offload->keep) {
      order.schedule = with_offload(order, *scenario.offload);
    }
    take_order(std::move(order), layout);
    spread_ranks(scenario, layout);
    note_seating(layout);
    check_partitioner(scenario);
    layout.shape = shape_of(scenario.model, layout);
    layout.spec = scenario.model.spec;
    layout.model = model_of(scenario, layout.batch, layout.shape, options.layers);
    fit_layers(layout, layout.model);
    check_measured_stages(scenario, layout);
    expect_slow_machines(scenario, layout);
    cut_stages(scenario, exchanges, layout);
    layout.tied_embedding_bytes = scenario.model.tied_embedding_bytes;
    fit_model(layout);
    check_exchanges(scenario, layout);
    settle_communication(scenario, layout);
    refuse_idle_keys(scenario, layout);
    check_shard_groups(layout);
    layout.documents = settle_documents(scenario, layout);
  });
  for (std::string& note : assumptions_of(scenario, layout)) {
    layout.notes.push_back(std::move(note));
  }
  return layout;
}

MemoryJudge judge_of(const Layout& layout) {
  return {layout.memory, layout.degrees, layout.placement.ranks()};
}

std::string title_of(const Layout& layout) {
  const std::uint32_t ranks = layout.placement.ranks();
  const auto copies = static_cast<std::uint32_t>(layout.placement.chains().size());
  const std::uint32_t stages = layout.placement.stage_count() - copies * further_pieces(layout);
  std::string title = fmt::format("{}, {}", layout.name, counted(ranks, "rank", "ranks"));
  if (stages != ranks) title += ", " + counted(stages, "stage", "stages");
  return title + ", " + counted(layout.microbatches, "microbatch", "microbatches");
}

}  // namespace penstock
