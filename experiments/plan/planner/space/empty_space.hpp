#pragma once

#include <string>

#include "experiments/plan/planner/space/layout_space.hpp"

namespace penstock {

/// Why a task has no legal layout: the restriction that leaves none and the values that there are,
/// restrictions that exclude each other, or the rule that excludes most.
std::string why_no_layout(const TrainingTask& task, const SpaceOptions& options);

}  // namespace penstock
