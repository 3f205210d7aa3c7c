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
  bool keeps_pipeline = false;        // only with as many ranks and microbatches it is that change

  /// "/memory/zero=2", "without /offload".
  std::string text() const;
};

/// What may let a scenario hold less, or buy time for memory: levels of ZeRO, recomputation, what
/// the host keeps, codecs where it is known how long they take, chunks, and other schedules for the
/// same ranks, microbatches and use of weights. Whether a change is allowed, only trying tells. The
/// result must be that of the scenario, and have finished.
std::vector<ScenarioChange> memory_changes(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
