#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/starter/read_training_task.hpp"
#include "experiments/starter/training_task.hpp"
#include "experiments/starter/trials.hpp"

namespace penstock {

/// The layouts that were tried for a request.
struct Starter {
  TrainingTask task;
  std::vector<TriedLayout> tried;        // one at least
  std::optional<std::size_t> fastest;    // of those that fit; nothing where none does
  std::optional<std::size_t> runner_up;  // the next fastest
  std::size_t closest = 0;               // the one that needs the least memory
};

/// Tries layouts by simulation. Throws UsageError for an unknown machine and a batch that no layout
/// can share, InputError for what scenarios refuse.
Starter find_starter(const StarterRequest& request);

/// What to tell the user, a line each: how many layouts were tried, the fastest and the runner-up,
/// or how much memory is missing.
std::vector<std::string> summary_of(const Starter& starter);

}  // namespace penstock
