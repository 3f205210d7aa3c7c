#pragma once

#include "experiments/starter/trials.hpp"

namespace penstock {

/// Tries all possible degrees of a task, then variations of the fastest.
void search_layouts(const TrainingTask& task, Trials& trials);

}  // namespace penstock
