#pragma once

#include <vector>

#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// What a task of the critical path waited for once it had its inputs and its turn, and by how much
/// others made it longer.
struct PathWaits {
  Time memory{};
  Time launch{};
  Time contention{};  // a transfer: behind those of other pairs, and longer because of others
  Time slowdown{};    // an action: longer because of transfers

  Time total() const { return memory + launch + contention + slowdown; }
  PathWaits& operator+=(const PathWaits& other);
};

/// A task of the critical path and the time that is its own there: from the moment when the step in
/// front let it go to that when it lets the next one go. Waits are a part of that.
struct PathStep {
  TaskId task;
  Time begin{};
  Time end{};
  PathWaits waits{};

  /// Of its own: what no wait explains.
  Time work() const { return end - begin - waits.total(); }
};

/// The tasks that decided the makespan, first to last: none could start before the one in front let
/// it go. The steps cover the time from 0 to the makespan without a gap. An action lets go when it
/// ends; a transfer when it has arrived, or, whoever only waits for its link, when it has left
/// that. Between equals the task before on the same rank is taken.
std::vector<PathStep> critical_path(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                    const Conditions& conditions = {});

/// The tasks alone.
std::vector<TaskId> tasks_of(const std::vector<PathStep>& path);

}  // namespace penstock
