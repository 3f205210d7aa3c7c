#pragma once

#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/tried_changes.hpp"

namespace penstock {

/// Neighbours of a scenario with the same devices and global batch: degrees of parallelism with a
/// factor of two moved from one to another, microbatches of half and twice the size, and other
/// orders. Rules may refuse them; only trying shows that.
std::vector<ScenarioChange> step_changes(const Scenario& scenario, const RunResult& result);

/// The neighbours that fit in memory and make the step at least 1 % shorter, fastest first, at most
/// five. The result must belong to the scenario and have finished.
std::vector<TriedChange> faster_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
