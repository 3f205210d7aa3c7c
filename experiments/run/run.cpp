#include "experiments/run/run.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiments/files/files.hpp"
#include "experiments/layout/layout.hpp"
#include "experiments/layout/stage_demand.hpp"
#include "experiments/layout/training.hpp"
#include "experiments/profiles/profile_rows.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/report/steady_interval.hpp"

namespace penstock {
namespace {

/// "parameters 5, stash 30": what is there.
std::string held_text(const BytesByKind& by_kind) {
  std::string held;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    if (by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", name(BufferKind{kind}), by_kind[kind]);
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

/// That sums are held back shows in when they start, and deserves its word.
void note_sums(const Scenario& scenario, const Layout& layout, RunResult& result) {
  const bool sums = shares_weights(scenario, layout) && layout.schedule.has_backward();
  if (scenario.overlaps_sums || !sums) return;
  result.notes.emplace_back(
      scenario.zero < 2
          ? "gradients are summed once a rank has done all of its work (/parallel/overlap_sums)"
          : "each pass waits for its own collectives (/parallel/overlap_sums)");
}

/// What of data replicas that differ is not in the result.
void note_replicas(const Scenario& scenario, RunResult& result) {
  if (scenario.data == 1 || !scenario.chance.differs_among_replicas()) return;
  result.chance_among_replicas = true;
  const bool in_passes =
      scenario.zero == 3 || (scenario.zero == 2 && !result.training.overlaps_sums);
  if (in_passes) {
    result.notes.push_back(
        fmt::format("with ZeRO-{} the passes of data replicas would wait for each other; that is "
                    "left out",
                    scenario.zero));
  } else if (scenario.data > most_drawn_replicas) {
    result.notes.push_back(
        fmt::format("sums wait for the slowest of {} data replicas that are "
                    "drawn; of {} one may be slower still",
                    most_drawn_replicas, scenario.data));
  }
}

/// What only the order tells: how old the weights get, and how quickly a pipeline without flushes
/// goes on.
void add_weights(const Layout& layout, RunResult& result) {
  if (layout.schedule.weights().use == WeightUse::flushed) return;
  const auto weights = weight_versions_by_rank(layout.schedule, layout.placement);
  for (std::size_t r = 0; r < weights.size(); ++r) result.report->ranks[r].weights = weights[r];
  result.steady_interval_us = steady_interval_us(*result.plan, result.timeline);
}

/// Simulates the first draw, and more where they are asked for. Returns why the run cannot finish.
std::optional<Finding> simulate(const Scenario& scenario, const Layout& layout,
                                const RunOptions& options, RunResult& result) {
  const Simulation simulation(scenario, layout, options.engine);
  result.peak_flops = simulation.hardware().peak_flops();
  if (layout.policy != nullptr) {
    auto decided = simulation.decide(0);
    if (auto* finding = std::get_if<Finding>(&decided)) return std::move(*finding);
    result.order = std::get<Schedule>(std::move(decided));
  }
  auto lowered = simulation.price_order(layout.policy != nullptr ? result.order : layout.schedule);
  if (auto* finding = std::get_if<Finding>(&lowered)) return std::move(*finding);
  PricedPlan& priced = std::get<PricedPlan>(lowered);
  auto first =
      options.repeat > 0 ? simulation.draw(priced, 0) : simulation.draw(std::move(priced), 0);
  if (auto* finding = std::get_if<Finding>(&first)) return std::move(*finding);
  PricedPlan& drawn = std::get<PricedPlan>(first);
  auto outcome = simulation.run(drawn);
  if (auto* finding = std::get_if<Finding>(&outcome)) return std::move(*finding);
  result.timeline = std::get<Timeline>(std::move(outcome));
  if (options.repeat > 0) {
    result.repeated = distribution_of(makespans_of_draws(
        options.repeat, scenario.chance.varies(),
        [&](std::uint32_t draw) { return simulation.makespan_of_draw(priced, draw); }));
  }
  result.plan = std::move(drawn.plan);
  result.costs = std::move(drawn.costs);
  result.conditions = std::move(drawn.conditions);
  result.training = training_of(scenario, layout);
  result.demand = demand_of(*result.plan, layout.model, layout.partition, result.training);
  return std::nullopt;
}

void report(const Scenario& scenario, const Layout& layout, RunResult& result) {
  result.report = summarize(*result.plan, result.costs, result.timeline, result.conditions);
  result.report->network =
      network_use(*result.plan, result.costs, result.conditions.network, result.report->makespan);
  result.throughput =
      throughput_of(scenario, layout, *result.plan, result.report->makespan, result.peak_flops);
  result.notes = scenario.notes;
  if (scenario.hardware_spec.profile) {
    result.profile_rows = rows_used(*scenario.hardware_spec.profile, layout.model);
  }
  note_sums(scenario, layout, result);
  note_replicas(scenario, result);
  if (scenario.warm_up_us.value_or(0) > 0) {
    result.first_iteration_us = to_us(result.report->makespan) + *scenario.warm_up_us;
  }
  if (!layout.codings.empty()) result.codec = codec_report(scenario, layout);
  add_weights(layout, result);
  add_memory_findings(scenario, result);
}

}  // namespace

RunResult run(const Scenario& scenario, const RunOptions& options) {
  if (!scenario.codec.phases.empty()) return run_in_phases(scenario, options);
  Layout layout = settle(scenario);
  RunResult result;
  result.title = title_of(layout);
  result.schedule = layout.name;
  try {
    if (auto finding = simulate(scenario, layout, options, result)) {
      result.findings.push_back(std::move(*finding));
      return result;
    }
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
  report(scenario, layout, result);
  if (layout.policy == nullptr) result.order = std::move(layout.schedule);
  return result;
}

}  // namespace penstock
