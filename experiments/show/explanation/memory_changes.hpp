#pragma once

#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/explanation/scenario_change.hpp"

namespace penstock {

/// Changes that may save memory, or use it to save time: ZeRO levels, recomputation, offloading,
/// codecs of known speed, other chunk counts, and other schedules with the same ranks, microbatches
/// and use of weights, interleaved ones with several chunk counts. Most promising first. Rules may
/// refuse a change; only trying it shows that. The result must belong to the scenario and have
/// finished.
std::vector<ScenarioChange> memory_changes(const Scenario& scenario, const RunResult& result);

/// The changes above that keep what is computed, on the same devices: ZeRO levels, recomputation,
/// chunk counts and other schedules.
std::vector<ScenarioChange> order_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
