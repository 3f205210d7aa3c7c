#pragma once

#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Waits of a task on the critical path after its inputs and its turn, and its slowdown by others.
struct PathWaits {
  Time memory{};
  Time launch{};
  Time contention{};  // a transfer: queued behind other pairs, or slowed by them
  Time slowdown{};    // an action: slowed by transfers

  Time total() const { return memory + launch + contention + slowdown; }
  PathWaits& operator+=(const PathWaits& other);
};

/// A task of the critical path and its share of the time: from its release by the previous step
/// until it releases the next. Includes its waits.
struct PathStep {
  TaskId task;
  Time begin{};
  Time end{};
  PathWaits waits{};

  /// The time without waits.
  Time work() const { return end - begin - waits.total(); }
};

/// The tasks that determine the makespan, first to last: none could start before the previous one
/// released it. The steps cover the time from 0 to the makespan without gaps. An action releases
/// others when it ends; a transfer when it has arrived, or, for tasks that only wait for its link,
/// when it has left. Ties go to the previous task on the same rank.
std::vector<PathStep> critical_path(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                    const Conditions& conditions = {});

/// Only the tasks.
std::vector<TaskId> tasks_of(const std::vector<PathStep>& path);

}  // namespace penstock
