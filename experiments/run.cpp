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

Costs costs_of(const Scenario& scenario, const Plan& plan, const Partition& partition,
               const HardwareModel& hardware) {
  Costs costs = price(plan, scenario.model, partition, hardware);
  costs.launch = from_us(scenario.launch_us);
  costs.issue = from_us(scenario.issue_us);
  if (costs.has_launches()) check_clock(plan, costs, "/overheads");
  return costs;
}

/// The one place that simulates: every draw of a run comes through here.
void simulate_with(const Plan& plan, const Costs& costs, Timeline& timeline) {
  relax(plan, costs, timeline);
}

/// Throws UsageError where the longest path is not what a run would take.
void check_relax_applies(const Scenario& scenario) {
  if (scenario.compute_slowdown_by_transfer == 1 && scenario.transfer_slowdown_by_compute == 1) {
    return;
  }
  throw UsageError("relax does not apply: actions and transfers slow each other down (/overheads)");
}

/// Prices the plan and simulates its draws, all of one pricing.
void simulate_draws(const Scenario& scenario, const Partition& partition, std::uint32_t repeat,
                    RunResult& result) {
  const Plan& plan = *result.plan;
  const auto hardware = hardware_of(scenario, plan);
  const Costs priced = costs_of(scenario, plan, partition, *hardware);
  result.conditions.network = network_of(plan, *hardware);
  result.costs = draw(plan, priced, scenario.chance, 0);
  simulate_with(plan, result.costs, result.timeline);
  if (repeat == 0) return;
  Timeline timeline;
  result.repeated = distribution_of(
      makespans_of_draws(plan, priced, scenario.chance, repeat, [&](const Costs& costs) {
        simulate_with(plan, costs, timeline);
        return makespan(plan, timeline);
      }));
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

RunResult run(const Scenario& scenario, const RunOptions& options) {
  check_relax_applies(scenario);
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
  try {
    simulate_draws(scenario, layout.partition, options.repeat, result);
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
  result.report = summarize(*result.plan, result.costs, result.timeline);
  result.report->network =
      network_use(*result.plan, result.costs, result.conditions.network, result.report->makespan);
  result.samples_per_s = samples_per_s(scenario, layout, result.report->makespan);
  add_weights(layout, result);
  add_memory_findings(scenario, result);
  return result;
}

}  // namespace penstock
