#pragma once

#include <vector>

#include "sim/plan/plan.hpp"

namespace penstock {

/// An op in two plans, by its task in each.
struct TaskPair {
  TaskId a;
  TaskId b;
  friend bool operator==(const TaskPair&, const TaskPair&) = default;
};

/// The common ops of two plans.
struct TaskMatch {
  std::vector<TaskPair> shared;  // by task of the first plan
  std::vector<TaskId> only_a;
  std::vector<TaskId> only_b;
};

/// Finds the common ops of two plans: the same pass, stage and microbatch, wherever it runs. When a
/// plan has several (the update of a stage on each of its ranks), those in the same place are
/// paired first, the others in order of place.
TaskMatch match_tasks(const Plan& a, const Plan& b);

/// A rank or link by its ends, to compare places across plans; both ends of a rank are itself.
Link place_of(const Plan& plan, std::uint32_t resource);

}  // namespace penstock
