#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// A change of a scenario that a user can make.
struct ScenarioChange {
  std::vector<std::string> settings;  // as for --set
  std::vector<std::string> left_out;  // sections
  bool keeps_pipeline = false;        // offered only if ranks and microbatches stay the same

  /// "/memory/zero=2", "without /offload".
  std::string text() const;
};

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

/// Changes that may save memory, or use it to save time: ZeRO levels, recomputation, offloading,
/// codecs of known speed, other chunk counts, and other schedules with the same ranks, microbatches
/// and use of weights, interleaved ones with several chunk counts. Most promising first. Rules may
/// refuse a change; only trying it shows that. The result must belong to the scenario and have
/// finished.
std::vector<ScenarioChange> memory_changes(const Scenario& scenario, const RunResult& result);

/// Simulates the scenario with each change, as a user would; leaves out what is refused, deadlocks,
/// or trains another batch or on other devices. The first few are always tried, others until the
/// tasks of all runs reach `most_tasks`. The result must belong to the scenario.
TriedChanges try_changes(const Scenario& scenario, const RunResult& result,
                         const std::vector<ScenarioChange>& changes,
                         std::uint64_t most_tasks = std::uint64_t{1} << 23);

/// The neighbours that fit in memory and make the step at least 1 % shorter, fastest first, at most
/// five. The result must belong to the scenario and have finished.
std::vector<TriedChange> faster_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
