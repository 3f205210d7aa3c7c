#include "experiments/run/run_once.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/memory_findings.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

/// Notes that gradient reduction does not overlap with compute.
void note_sums(RunResult& result) {
  const Layout& layout = result.layout;
  const bool sums = shares_weights(layout) && layout.schedule.has_backward();
  if (layout.degrees.overlaps_sums || !sums) return;
  result.notes.emplace_back(
      layout.memory.zero < 2
          ? "gradients are reduced after a rank's last backward (/parallel/overlap_sums)"
          : "each pass waits for its own collectives (/parallel/overlap_sums)");
}

/// Notes which differences among data replicas are not simulated.
void note_replicas(RunResult& result) {
  const Layout& layout = result.layout;
  if (layout.degrees.data == 1 || !layout.chance.differs_among_replicas()) return;
  result.chance_among_replicas = true;
  const bool in_passes =
      layout.memory.zero == 3 || (layout.memory.zero == 2 && !result.training.overlaps_sums);
  if (in_passes) {
    result.notes.push_back(
        fmt::format("with ZeRO-{} passes of data replicas would wait for each other; this is not "
                    "simulated",
                    layout.memory.zero));
  } else if (layout.degrees.data > most_drawn_replicas) {
    result.notes.push_back(
        fmt::format("gradient reduction waits for the slowest of {} data replicas that are "
                    "drawn; of {} one may be slower still",
                    most_drawn_replicas, layout.degrees.data));
  }
}

/// Notes whether layer times are those of a run.
void note_conditions(RunResult& result) {
  const auto in_run =
      std::count_if(result.profile_rows.begin(), result.profile_rows.end(), was_in_run);
  if (result.profile_rows.empty()) return;
  if (in_run == std::ssize(result.profile_rows)) {
    result.notes.emplace_back("layer times were measured in runs of 1f1b");
    return;
  }
  result.notes.emplace_back(fmt::format(
      "{} layer times were measured alone; a run takes longer where cores share caches (penstock "
      "calibrate --layers-of measures both)",
      in_run == 0 ? "all" : "some"));
}

/// Adds weight versions, and the steady interval of a pipeline without flushes.
void add_weights(RunResult& result) {
  const Layout& layout = result.layout;
  if (layout.schedule.weights().use == WeightUse::flushed) return;
  const auto weights = weight_versions_by_rank(layout.schedule, layout.placement);
  for (std::size_t r = 0; r < weights.size(); ++r) result.report->ranks[r].weights = weights[r];
  result.steady_interval_us = steady_interval_us(*result.plan, result.timeline);
}

/// Runs the order in the first draw, and in more draws on request. Returns why it cannot finish.
std::optional<Finding> run_order(const Simulation& simulation, const Schedule& order,
                                 const RunOptions& options, RunResult& result) {
  auto lowered = simulation.price_order(order);
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
        options.repeat, result.layout.chance.varies(),
        [&](std::uint32_t draw) { return simulation.makespan_of_draw(priced, draw); },
        options.on_progress));
  }
  result.plan = std::move(drawn.plan);
  result.costs = std::move(drawn.costs);
  result.conditions = std::move(drawn.conditions);
  return std::nullopt;
}

/// Simulates the layout of a result. Returns why the run cannot finish.
std::optional<Finding> simulate(const RunOptions& options, RunResult& result) {
  Layout& layout = result.layout;
  const Simulation simulation(layout, options.engine);
  result.peak_flops = simulation.hardware().peak_flops();
  if (layout.policy == nullptr) return run_order(simulation, layout.schedule, options, result);
  auto decided = simulation.decide(0);
  if (auto* finding = std::get_if<Finding>(&decided)) return std::move(*finding);
  Schedule& order = std::get<Schedule>(decided);
  if (auto finding = run_order(simulation, order, options, result)) return finding;
  layout.schedule = std::move(order);
  return std::nullopt;
}

void add_report(RunResult& result) {
  const Layout& layout = result.layout;
  const Plan& plan = *result.plan;
  result.training = training_of(layout);
  result.demand = demand_of(plan, layout.model, layout.partition, result.training);
  result.report = summarize(plan, result.costs, result.timeline, result.conditions);
  const Time makespan = result.report->makespan;
  result.report->network = network_use(plan, result.costs, result.conditions.network, makespan);
  result.throughput = throughput_of(layout, plan, makespan, result.peak_flops);
  result.notes = layout.notes;
  if (layout.hardware.spec.profile) {
    result.profile_rows = rows_used(*layout.hardware.spec.profile, layout.model);
    note_conditions(result);
  }
  note_sums(result);
  note_replicas(result);
  if (layout.overheads.warm_up_us.value_or(0) > 0) {
    result.first_iteration_us = to_us(makespan) + *layout.overheads.warm_up_us;
  }
  add_weights(result);
  add_memory_findings(result);
}

}  // namespace

RunResult run_once(Layout layout, const RunOptions& options) {
  RunResult result;
  result.title = title_of(layout);
  result.layout = with_codecs(std::move(layout));
  try {
    if (auto finding = simulate(options, result)) {
      result.findings.push_back(std::move(*finding));
      return result;
    }
  } catch (const InputError& error) {
    throw in_file(result.layout.source, error);
  }
  add_report(result);
  return result;
}

}  // namespace penstock
