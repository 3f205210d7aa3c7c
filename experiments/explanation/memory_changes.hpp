#pragma once

#include <string>
#include <vector>

#include "experiments/run/run_result.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// A change of a scenario as a user can make it.
struct ScenarioChange {
  std::vector<std::string> settings;  // as --set has them
  std::vector<std::string> left_out;  // sections
  bool keeps_pipeline = false;        // offered only if ranks and microbatches stay the same

  /// "/memory/zero=2", "without /offload".
  std::string text() const;
};

/// Changes that may save memory, or buy time with it: levels of ZeRO, recomputation, offloading,
/// codecs of known speed, other chunk counts, and other schedules, interleaved ones with several
/// chunk counts, for the same ranks, microbatches and use of weights. Most likely ones first. Rules
/// may refuse a change; only trying shows that. The result must be that of the scenario, and have
/// finished.
std::vector<ScenarioChange> memory_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
