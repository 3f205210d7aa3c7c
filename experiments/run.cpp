#include "experiments/run.hpp"

#include <fmt/format.h>

#include "experiments/files.hpp"
#include "experiments/layout.hpp"
#include "hardware_models/registry.hpp"
#include "sim/error.hpp"
#include "sim/lower.hpp"
#include "sim/named.hpp"
#include "sim/relax.hpp"
#include "sim/steady_interval.hpp"
#include "sim/weight_versions.hpp"

namespace penstock {
namespace {

/// What the scenario says of its hardware, with the devices of a rank.
HardwareSpec hardware_spec_of(const Scenario& scenario, const Plan& plan) {
  HardwareSpec spec = scenario.hardware_spec;
  spec.ranks = plan.ranks;
  spec.devices_per_replica = std::uint64_t{scenario.tensor} * scenario.context * scenario.expert;
  spec.devices_per_rank = spec.devices_per_replica * scenario.data;
  return spec;
}

std::unique_ptr<HardwareModel> hardware_of(const Scenario& scenario, const Plan& plan) {
  const CostModelEntry* entry = find_named(cost_model_entries(), scenario.hardware);
  if (entry == nullptr) {
    throw InputError("/hardware/name",
                     fmt::format("unknown name \"{}\"; known: {}", scenario.hardware,
                                 names_of(cost_model_entries())));
  }
  return entry->make(hardware_spec_of(scenario, plan));
}

/// Fills in what the plan costs on the scenario's hardware, and the network it meets with there.
void price_on_hardware(const Scenario& scenario, const Partition& partition, RunResult& result) {
  try {
    const auto hardware = hardware_of(scenario, *result.plan);
    result.costs = price(*result.plan, scenario.model, partition, *hardware);
    result.conditions.network = network_of(*result.plan, *hardware);
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string title_of(const Layout& layout) {
  const std::uint32_t ranks = layout.placement.ranks();
  const std::uint32_t stages = layout.placement.stage_count();
  std::string title = fmt::format("{}, {}", layout.name, counted(ranks, "rank", "ranks"));
  if (stages != ranks) title += ", " + counted(stages, "stage", "stages");
  return title + ", " + counted(layout.microbatches, "microbatch", "microbatches");
}

/// A rank that needs more than it has, with what it held at its peak.
Finding out_of_memory(Rank rank, const MemoryPeak& peak, std::uint64_t capacity) {
  constexpr const char* kinds[buffer_kinds] = {
      "parameters", "stash",    "receive",        "gradient", "weight gradients",
      "optimizer",  "versions", "pending weight", "workspace"};
  std::string held;
  for (std::size_t kind = 0; kind < buffer_kinds; ++kind) {
    if (peak.by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", kinds[kind], peak.by_kind[kind]);
  }
  return {"out_of_memory", rank, peak.time,
          fmt::format("rank {} holds {} bytes at {} us, {} over its capacity of {} bytes: {}",
                      index(rank), peak.bytes, text_us(peak.time), peak.bytes - capacity, capacity,
                      held)};
}

void add_memory_findings(const Scenario& scenario, RunResult& result) {
  if (!scenario.capacity_bytes) return;
  for (Rank rank : Numbers<Rank>(result.plan->ranks)) {
    const MemoryPeak& peak = result.report->ranks[index(rank)].memory;
    if (peak.bytes > *scenario.capacity_bytes) {
      result.findings.push_back(out_of_memory(rank, peak, *scenario.capacity_bytes));
    }
  }
}

double samples_per_s(const Scenario& scenario, const Layout& layout, Time makespan) {
  if (makespan == Time{}) return 0;
  const double samples =
      static_cast<double>(layout.microbatches) * scenario.samples_per_microbatch * scenario.data;
  return samples / (to_us(makespan) * 1e-6);
}

/// What only the order tells: how old the weights get, and how quickly a pipeline without flushes
/// goes on.
void add_weights(const Layout& layout, RunResult& result) {
  if (layout.schedule.weights().use == WeightUse::flushed) return;
  const auto weights = weight_versions_by_rank(layout.schedule, layout.placement);
  for (std::size_t r = 0; r < weights.size(); ++r) result.report->ranks[r].weights = weights[r];
  result.steady_interval_us = steady_interval_us(*result.plan, result.timeline);
}

}  // namespace

RunResult run(const Scenario& scenario) {
  Layout layout = settle(scenario);
  RunResult result;
  result.title = title_of(layout);
  result.schedule = layout.name;
  auto lowered = lower(layout.schedule, layout.placement, scenario.overlap);
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) {
    result.findings.push_back({"deadlock", deadlock->circle.front().rank, {}, text(*deadlock)});
    return result;
  }
  result.plan = std::move(std::get<Plan>(lowered));
  result.plan->schedule = layout.name;
  price_on_hardware(scenario, layout.partition, result);
  relax(*result.plan, result.costs, result.timeline);
  result.report = summarize(*result.plan, result.costs, result.timeline);
  result.report->network =
      network_use(*result.plan, result.costs, result.conditions.network, result.report->makespan);
  result.samples_per_s = samples_per_s(scenario, layout, result.report->makespan);
  add_weights(layout, result);
  add_memory_findings(scenario, result);
  return result;
}

}  // namespace penstock
