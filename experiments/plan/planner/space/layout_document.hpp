#pragma once

#include <string>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// The scenario of a layout as JSON text, with a description in each section and the settings of
/// the task applied.
std::string layout_document(const TrainingTask& task, const LayoutChoice& choice);

}  // namespace penstock
