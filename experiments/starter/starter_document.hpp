#pragma once

#include <string>

#include "experiments/starter/layout_choice.hpp"
#include "experiments/starter/training_task.hpp"

namespace penstock {

/// The scenario of a layout as JSON text, with a description in each section.
std::string starter_document(const TrainingTask& task, const LayoutChoice& choice);

}  // namespace penstock
