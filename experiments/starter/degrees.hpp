#pragma once

#include <cstdint>
#include <vector>

#include "experiments/starter/layout_choice.hpp"
#include "experiments/starter/training_task.hpp"

namespace penstock {

/// Of one replica. More would take long to simulate, and change little.
constexpr std::uint32_t most_replica_microbatches = 16'384;

/// All degrees that multiply to the devices of a task, as 1F1B with ZeRO-1: tensor groups inside a
/// machine that divide the heads, layers cut evenly, experts divided, and a batch that comes out
/// even. Ascending in tensor, pipeline and expert degree.
std::vector<LayoutChoice> possible_degrees(const TrainingTask& task);

/// Sets the microbatches of a layout to what its share of the batch takes. False where the batch
/// does not divide, or into too many.
bool share_batch(const TrainingTask& task, LayoutChoice& choice);

}  // namespace penstock
