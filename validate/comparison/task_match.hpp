#pragma once

#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// One op in two plans, by its task in each.
struct TaskPair {
  TaskId a;
  TaskId b;
  friend bool operator==(const TaskPair&, const TaskPair&) = default;
};

/// What two plans share.
struct TaskMatch {
  std::vector<TaskPair> shared;  // by task of the first
  std::vector<TaskId> only_a;
  std::vector<TaskId> only_b;
};

/// Finds the ops that two plans share: the same pass of the same stage for the same microbatch,
/// wherever it runs. Where a plan has several of that kind (the update of a stage on each rank that
/// has it), those that run in the same place are one op first, and the others in order of their
/// places.
TaskMatch match_tasks(const Plan& a, const Plan& b);

/// A rank or link by its ends, so that those of two plans can be compared; a rank ends at itself.
Link place_of(const Plan& plan, std::uint32_t resource);

}  // namespace penstock
