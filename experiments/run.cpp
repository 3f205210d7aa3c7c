#include "experiments/run.hpp"

#include <fmt/format.h>

#include <array>

#include "experiments/files.hpp"
#include "experiments/layout.hpp"
#include "experiments/training.hpp"
#include "hardware_models/registry.hpp"
#include "sim/error.hpp"
#include "sim/lower.hpp"
#include "sim/named.hpp"
#include "sim/relax.hpp"

namespace penstock {
namespace {

std::unique_ptr<HardwareModel> hardware_of(const Scenario& scenario) {
  const CostModelEntry* entry = find_named(cost_model_entries(), scenario.hardware);
  if (entry == nullptr) {
    throw InputError("/hardware/name",
                     fmt::format("unknown name \"{}\"; known: {}", scenario.hardware,
                                 names_of(cost_model_entries())));
  }
  return entry->make(scenario.hardware_spec);
}

Costs costs_of(const Scenario& scenario, const Plan& plan, const Partition& partition) {
  try {
    return price(plan, scenario.model, partition, *hardware_of(scenario), training_of(scenario));
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

/// "parameters 5, stash 30": what is there.
std::string held_text(const BytesByKind& by_kind) {
  constexpr std::array<const char*, buffer_kinds> kinds{
      "parameters", "stash",    "receive",        "gradient",  "weight gradients",
      "optimizer",  "versions", "pending weight", "workspace", "recomputed"};
  std::string held;
  for (std::size_t kind = 0; kind < buffer_kinds; ++kind) {
    if (by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", kinds[kind], by_kind[kind]);
  }
  return held;
}

/// A rank that needs more than it has: when it did first, and what it held at its peak.
Finding out_of_memory(const RunResult& result, Rank rank, Time first, std::uint64_t capacity) {
  const MemoryPeak& peak = result.report->ranks[index(rank)].memory;
  const std::string maker = peak.task == no_task
                                ? "before any action"
                                : "when it came to " + task_text(*result.plan, peak.task);
  return {"out_of_memory", rank, first,
          fmt::format("rank {} exceeds its capacity of {} bytes from {} us on; at its peak, at {} "
                      "us {}, it holds {} bytes, {} too many: {}",
                      index(rank), capacity, text_us(first), text_us(peak.time), maker, peak.bytes,
                      peak.bytes - capacity, held_text(peak.by_kind))};
}

void add_memory_findings(const Scenario& scenario, RunResult& result) {
  if (!scenario.capacity_bytes) return;
  const auto first =
      first_above(*result.plan, result.costs, result.timeline, *scenario.capacity_bytes);
  for (Rank rank : Numbers<Rank>(result.plan->ranks)) {
    if (!first[index(rank)]) continue;
    result.findings.push_back(
        out_of_memory(result, rank, *first[index(rank)], *scenario.capacity_bytes));
  }
}

double samples_per_s(const Scenario& scenario, const Layout& layout, Time makespan) {
  if (makespan == Time{}) return 0;
  const double samples =
      static_cast<double>(layout.microbatches) * scenario.samples_per_microbatch * scenario.data;
  return samples / (to_us(makespan) * 1e-6);
}

}  // namespace

RunResult run(const Scenario& scenario) {
  Layout layout = settle(scenario);
  RunResult result;
  result.title = title_of(layout);
  result.schedule = layout.name;
  auto lowered = lower(layout.schedule, layout.placement, scenario.overlap,
                       extras_of(scenario, layout.partition));
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) {
    result.findings.push_back({"deadlock", deadlock->circle.front().rank, {}, text(*deadlock)});
    return result;
  }
  result.plan = std::move(std::get<Plan>(lowered));
  result.plan->schedule = layout.name;
  result.costs = costs_of(scenario, *result.plan, layout.partition);
  relax(*result.plan, result.costs, result.timeline);
  result.report = summarize(*result.plan, result.costs, result.timeline);
  result.samples_per_s = samples_per_s(scenario, layout, result.report->makespan);
  add_memory_findings(scenario, result);
  return result;
}

}  // namespace penstock
