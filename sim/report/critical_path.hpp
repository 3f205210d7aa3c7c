#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
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

/// For every task the one before it on its rank or link. Actions stand in plan order; transfers of
/// a link too while they were served in it, else first come, first served.
///
/// Whoever follows a run back from its end asks for few tasks, by falling number. So not all are
/// kept: the plan is cut into blocks, and only the block last asked for is known task by task.
class TasksBefore {
 public:
  TasksBefore(const Plan& plan, const Costs& costs, const Timeline& timeline);

  /// `no_task` for the first of a resource.
  TaskId of(TaskId task) {
    if (!served_before_.empty() && !in_plan_order_[resource_of(task)]) return served_before_[task];
    if (task / block_size_ != block_) enter(task / block_size_);
    return before_[task % block_size_];
  }

 private:
  std::uint32_t resource_of(TaskId task) const { return resource_of_class_[plan_.work[task]]; }
  void follow_plan(const Costs& costs, const Timeline& timeline);
  void follow_service(const Costs& costs, const Timeline& timeline);
  void enter(std::uint32_t block);

  const Plan& plan_;
  std::vector<std::uint32_t> resource_of_class_;
  std::vector<std::uint8_t> in_plan_order_;  // by resource: its tasks were served in plan order
  std::vector<TaskId> served_before_;        // by task, of links that were not; empty when all were

  std::uint32_t block_size_;
  std::vector<TaskId> last_in_front_;  // by block, resource: the last task in front of the block
  std::uint32_t block_ = UINT32_MAX;   // the one that is known
  std::vector<TaskId> before_;         // by task of that block
};

}  // namespace penstock
