#pragma once

#include "experiments/planner/space/layout_choice.hpp"
#include "experiments/planner/space/training_task.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// The scenario of a layout, made from that of another layout of the task: what reading its
/// document gives, without the document.
Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice);

}  // namespace penstock
