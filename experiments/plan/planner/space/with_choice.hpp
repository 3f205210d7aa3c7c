#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// The scenario of a layout, made from that of another layout of the task: what reading its
/// document gives, without the document.
Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice);

}  // namespace penstock
