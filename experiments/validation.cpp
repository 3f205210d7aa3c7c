#include "experiments/validation.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "experiments/files.hpp"
#include "experiments/layout.hpp"
#include "experiments/simulation.hpp"
#include "sim/error.hpp"
#include "sim/events.hpp"
#include "sim/relax.hpp"

namespace penstock {
namespace {

/// What of a scenario is no plan and its costs, so that it cannot be run for real.
std::optional<std::string> why_not(const Scenario& scenario) {
  if (!scenario.policy.empty()) return "policies that decide while a plan runs";
  if (!scenario.codec.phases.empty()) return "formats that change over a training";
  if (!scenario.chance.changes_nothing()) return "chance: a machine has its own";
  if (scenario.launch_us > 0 || scenario.issue_us > 0) return "launches that take time";
  return std::nullopt;
}

void refuse(const BackendEntry& backend, const std::string& reason) {
  throw UsageError(fmt::format("{} does not run {}", backend.name, reason));
}

void check_backend(const BackendEntry& backend, const PricedPlan& priced) {
  if (const auto reason = why_not_relax(priced.plan, priced.conditions)) {
    refuse(backend, fmt::format("this scenario: {}", *reason));
  }
  const auto obstacle = backend.obstacle(priced.plan);
  if (!obstacle) return;
  if (!obstacle->of_machine) refuse(backend, obstacle->text);
  throw std::runtime_error(fmt::format("{}: {}", backend.name, obstacle->text));
}

Finding finding_of(const RunFault& fault) { return {fault.kind, fault.rank, {}, fault.text}; }

/// Runs the job, and the simulation beside it. Returns what went wrong.
std::optional<Finding> measure_and_compare(const BackendEntry& entry,
                                           const MeasuringPlan& measuring, Validation& result) {
  const std::unique_ptr<Backend> backend = entry.make(result.job);
  auto outcome = measure(*backend, result.job, measuring);
  if (const auto* fault = std::get_if<RunFault>(&outcome)) return finding_of(*fault);
  result.measured = std::get<Measurement>(std::move(outcome));
  if (result.measured.iterations.empty()) return std::nullopt;
  result.errors = run_errors(result.job, result.measured);
  result.why_no_score = backend->why_no_score().value_or("");
  if (result.why_no_score.empty()) {
    result.verdict = judge(result.errors, result.measured, result.targets);
  }
  relax(result.job.plan, costs_of(result.job, result.measured.profile_ns), result.simulated);
  const std::size_t middle = result.errors.median_iteration;
  result.typical = timeline_of(result.job, result.measured.iterations[middle]);
  result.typical.iteration = static_cast<std::uint32_t>(middle);
  result.typical.environment = backend->environment();
  result.typical.environment["time_scale"] = fmt::format("{}", result.job.scale);
  return std::nullopt;
}

std::optional<Finding> run_for_real(const Scenario& scenario, const Layout& layout,
                                    const BackendEntry& backend, const MeasuringPlan& measuring,
                                    Validation& result) {
  const Simulation simulation(scenario, layout, Engine::automatic);
  auto lowered = simulation.price_order(layout.schedule);
  if (auto* finding = std::get_if<Finding>(&lowered)) return std::move(*finding);
  PricedPlan& priced = std::get<PricedPlan>(lowered);
  check_backend(backend, priced);
  Timeline unscaled;
  relax(priced.plan, priced.costs, unscaled);
  result.scenario = makespan(priced.plan, unscaled);
  result.job = job_of(std::move(priced.plan), priced.costs, backend.length);
  return measure_and_compare(backend, measuring, result);
}

}  // namespace

Validation validate(const Scenario& scenario, const BackendEntry& backend,
                    const MeasuringPlan& measuring) {
  if (const auto reason = why_not(scenario)) refuse(backend, *reason);
  const Layout layout = settle(scenario);
  Validation result;
  result.title = title_of(layout);
  result.backend = backend.name;
  try {
    result.fault = run_for_real(scenario, layout, backend, measuring, result);
  } catch (const InputError& error) {
    throw in_file(scenario.source, error);
  }
  return result;
}

}  // namespace penstock
