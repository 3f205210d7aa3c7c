#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/scenario_change.hpp"

namespace penstock {

/// Simulated peak memory and makespan of a scenario with one change.
struct TriedChange {
  std::string change;  // as for --set: "/memory/zero=2"
  Rank worst{};        // the rank with the highest peak
  std::uint64_t peak_bytes = 0;
  std::optional<bool> fits;  // empty if the capacity is unknown
  Time makespan{};
};

struct TriedChanges {
  std::vector<TriedChange> changes;  // those that run, in the order given
  std::uint32_t not_tried = 0;       // because the run is large
};

/// The rank with the highest peak, the first of equals.
Rank worst_of(const Report& report);

/// Simulates the scenario with each change, as a user would; leaves out what is refused, deadlocks,
/// or trains another
/// batch or on other devices. The first few are always tried, others until the tasks of all runs
/// reach `most_tasks`. The result must belong to the scenario.
TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes,
                         std::uint64_t most_tasks = std::uint64_t{1} << 23);

}  // namespace penstock
