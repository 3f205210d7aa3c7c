#pragma once

#include <cstdint>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// Per replica. More would be slow to simulate and change little.
constexpr std::uint32_t most_replica_microbatches = 16'384;

/// All divisors of a number, ascending.
std::vector<std::uint32_t> divisors(std::uint32_t number);

/// Sets the microbatches of a layout for its share of the batch. False if the batch does not
/// divide, or into too many.
bool share_batch(const TrainingTask& task, LayoutChoice& choice);

/// The rule that excludes the tensor degree of a layout; nullptr if it is legal.
const char* why_no_tensor(const TrainingTask& task, std::uint32_t tensor);
/// The rule that excludes the degrees of a layout whose product is right; nullptr if they are
/// legal. Sets the microbatches.
const char* why_no_degrees(const TrainingTask& task, LayoutChoice& choice);

}  // namespace penstock
