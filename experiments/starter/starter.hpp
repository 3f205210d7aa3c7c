#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/planner/space/read_training_task.hpp"
#include "experiments/planner/space/training_task.hpp"
#include "experiments/starter/trials.hpp"

namespace penstock {

/// The layouts tried for a request.
struct Starter {
  TrainingTask task;
  std::vector<TriedLayout> tried;        // at least one
  std::optional<std::size_t> fastest;    // that fits; empty if none does
  std::optional<std::size_t> runner_up;  // second fastest
  std::size_t closest = 0;               // the one that needs the least memory
};

/// Tries layouts by simulation. Throws UsageError for an unknown machine and for a batch that no
/// layout can divide, InputError for what scenarios refuse.
Starter find_starter(const TrainingRequest& request);

/// Lines for the user: how many layouts were tried, the fastest and the runner-up, or how much
/// memory is missing.
std::vector<std::string> summary_of(const Starter& starter);

}  // namespace penstock
