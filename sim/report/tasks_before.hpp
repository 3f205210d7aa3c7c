#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

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
