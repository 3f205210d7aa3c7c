#pragma once

#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// The tasks of the same ops in another plan; ops that it lacks are left out.
std::vector<TaskId> same_ops(const Plan& from, const std::vector<TaskId>& tasks, const Plan& to);

}  // namespace penstock
