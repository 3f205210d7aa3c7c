#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/nearest.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/assumptions.hpp"
#include "experiments/run/layout/cut.hpp"
#include "experiments/run/layout/idle_keys.hpp"
#include "experiments/run/layout/known_parts.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/measured_stages.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/slow_machines.hpp"
#include "experiments/run/layout/spread_ranks.hpp"
#include "hardware_models/spec/machine.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Runs a step and puts the scenario's file in front of its errors.
template <class Step>
auto about(const Scenario& scenario, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
}

/// Offloads activations beyond each rank's limit to its host and fetches them back.
Schedule with_offload(const Order& order, const Offload& offload) {
  if (order.policy != nullptr) {
    throw InputError("/offload",
                     "it goes with an order that is known before; a policy decides as it runs");
  }
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
  layout.notes.push_back(fmt::format("{} on {} × {}: {}",
                                     counted(spec.ranks * spec.devices_per_rank, "device"),
                                     seating.machines, spec.machine->name, seating_text(seating)));
}

/// Settles everything that does not depend on the order.
Layout without_order(const Scenario& scenario, const SettleOptions& options, KnownParts* known) {
  Layout layout;
  layout.source = scenario.source;
  about(scenario, [&] {
    layout.degrees = settle_degrees(scenario);
    layout.batch = settle_batch(scenario, layout.degrees);
  });
  // Errors name its own files.
  layout.hardware = known != nullptr && options.catalogue != nullptr
                        ? settle_hardware(scenario, *options.catalogue, known->machine)
                        : settle_hardware(scenario, options.catalogue);
  const auto& machine = layout.hardware.spec.machine;
  about(scenario, [&] { layout.memory = settle_memory(scenario.memory, machine); });
  layout.allows_stale = options.allows_stale;
  layout.overlap = scenario.schedule.overlap;
  layout.recompute = scenario.recompute;
  layout.codec = scenario.codec;
  layout.overheads = overheads_of(scenario, machine);
  layout.conditions = conditions_of(scenario);
  layout.chance = scenario.chance;
  layout.notes = scenario.model.notes;
  layout.notes.insert(layout.notes.end(), layout.hardware.notes.begin(),
                      layout.hardware.notes.end());
  return layout;
}

Order order_of(const Scenario& scenario, const Degrees& degrees, const Batch& batch) {
  if (!scenario.schedule.policy.empty()) {
    return order_by_policy(scenario, degrees, *batch.microbatches);
  }
  return order_by_rule(scenario, degrees, *batch.microbatches);
}

/// What the costs of layers by kind follow from. Their files are as the scenario names them.
std::string key_of_model(const Scenario& scenario, const Layout& layout) {
  const nlohmann::json& document = *scenario.document;
  const CellShape& shape = layout.shape;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", scenario.source,
                     document["model"].dump(), document.value("recompute", nlohmann::json()).dump(),
                     layout.batch.sequence.has_value(), shape.sequence, shape.microbatch,
                     shape.slices, shape.activation_size, shape.parameter_size, shape.tensor,
                     shape.context, shape.expert, shape.sequence_parallel);
}

ModelGraph known_model_of(const Scenario& scenario, const Layout& layout, KnownModel* known) {
  if (known == nullptr || !scenario.model.by_kind()) {
    return model_of(scenario, layout.batch, layout.shape);
  }
  std::string key = key_of_model(scenario, layout);
  if (known->key != key) {
    known->key.clear();
    known->model = model_of(scenario, layout.batch, layout.shape);
    known->key = std::move(key);
  }
  return known->model;
}

/// `known` may be null.
Layout settle_with(const Scenario& scenario, const SettleOptions& options, KnownParts* known) {
  Layout layout = without_order(scenario, options, known);
  const bool by_file = !scenario.schedule.file.empty();
  Order order;
  if (by_file) order = order_by_file(scenario);  // errors name the order's file
  about(scenario, [&] {
    if (by_file) {
      check_against_order(scenario, layout.degrees, layout.batch, order);
    } else {
      order = order_of(scenario, layout.degrees, layout.batch);
    }
    if (scenario.offload) order.schedule = with_offload(order, *scenario.offload);
    take_order(std::move(order), layout);
    spread_ranks(scenario, layout);
    note_seating(layout);
    check_partitioner(scenario);
    layout.shape = shape_of(scenario.model, layout);
    layout.spec = scenario.model.spec;
    layout.model = known_model_of(scenario, layout, known != nullptr ? &known->model : nullptr);
    check_measured_stages(scenario, layout);
    layout.partition = cut_model(scenario, layout);
    layout.tied_embedding_bytes = scenario.model.tied_embedding_bytes;
    fit_model(layout);
    expect_slow_machines(scenario, layout);
    refuse_idle_keys(scenario, layout);
  });
  for (std::string& note : assumptions_of(scenario, layout)) {
    layout.notes.push_back(std::move(note));
  }
  return layout;
}

}  // namespace

Layout settle(const Scenario& scenario, const SettleOptions& options) {
  return settle_with(scenario, options, nullptr);
}

Layout settle(const Scenario& scenario, const SettleOptions& options, KnownParts& known) {
  return settle_with(scenario, options, &known);
}

std::string title_of(const Layout& layout) {
  const std::uint32_t ranks = layout.placement.ranks();
  const std::uint32_t stages = layout.placement.stage_count();
  std::string title = fmt::format("{}, {}", layout.name, counted(ranks, "rank", "ranks"));
  if (stages != ranks) title += ", " + counted(stages, "stage", "stages");
  return title + ", " + counted(layout.microbatches, "microbatch", "microbatches");
}

}  // namespace penstock
