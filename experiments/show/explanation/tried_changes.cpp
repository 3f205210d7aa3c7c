#include "experiments/show/explanation/tried_changes.hpp"

#include <algorithm>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/sizes.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_runs = 64;
constexpr std::uint32_t fewest_runs = 4;

/// A simulated change, and the size of its run.
struct SizedChange {
  TriedChange change;
  std::uint64_t tasks = 0;
};

bool same_pipeline(const Layout& one, const Layout& other) {
  return one.placement.ranks() == other.placement.ranks() && one.microbatches == other.microbatches;
}

bool trains_alike(const Layout& one, const Layout& other) {
  return devices_of(one) == devices_of(other) && global_batch_of(one) == global_batch_of(other) &&
         one.schedule.has_backward() == other.schedule.has_backward();
}

/// Runs the scenario with the change, as a user would; nothing if it is refused or the run
/// deadlocks.
std::optional<SizedChange> simulated(const Scenario& scenario, const ScenarioChange& wanted,
                                     const Layout& present, const SettleOptions& options) {
  try {
    Layout layout = settle(changed(scenario, wanted.settings, wanted.left_out), options);
    if (wanted.keeps_pipeline && !same_pipeline(layout, present)) return {};
    const RunResult result = run(std::move(layout));
    if (!result.report || !trains_alike(result.layout, present)) return {};
    TriedChange change{.change = wanted.text(),
                       .worst = worst_of(*result.report),
                       .makespan = result.report->makespan};
    change.peak_bytes = result.report->ranks[index(change.worst)].memory.bytes;
    if (const auto capacity = result.layout.memory.capacity_bytes) {
      change.fits = change.peak_bytes <= *capacity;
    }
    return SizedChange{change, result.plan->tasks()};
  } catch (const InputError&) {
    return {};
  } catch (const RuleError&) {
    return {};
  }
}

}  // namespace

Rank worst_of(const Report& report) {
  const auto worst = std::max_element(
      report.ranks.begin(), report.ranks.end(),
      [](const RankReport& a, const RankReport& b) { return a.memory.bytes < b.memory.bytes; });
  return Rank{static_cast<std::uint32_t>(worst - report.ranks.begin())};
}

TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes, std::uint64_t most_tasks) {
  TriedChanges all;
  std::uint64_t tasks = 0;
  Catalogue catalogue;  // read once for all runs, if used
  SettleOptions options;
  if (result.layout.hardware.spec.machine) {
    catalogue = read_catalogue();
    options.catalogue = &catalogue;
  }
  for (const ScenarioChange& candidate : changes) {
    const std::size_t runs = all.changes.size();
    if (runs == most_runs || (runs >= fewest_runs && tasks >= most_tasks)) {
      ++all.not_tried;
      continue;
    }
    const auto tried = simulated(scenario, candidate, result.layout, options);
    if (!tried) continue;
    tasks += tried->tasks;
    all.changes.push_back(tried->change);
  }
  return all;
}

}  // namespace penstock
