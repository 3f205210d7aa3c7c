#pragma once

#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/rerun/task_graph.hpp"

namespace penstock {

/// Links over which more than one rank sends. Of each only the transfers of one rank have an order
/// among themselves.
std::vector<bool> links_with_several_makers(const Plan& plan);

/// What a task must stay behind, and what must stay behind it, on its rank or link.
class OrderNeighbours {
 public:
  OrderNeighbours(const Plan& plan, const TaskGraph& graph, const std::vector<bool>& several_makers)
      : plan_(plan), graph_(graph), several_makers_(several_makers) {}

  TaskId before(TaskId task) const;
  TaskId behind(TaskId task) const;

 private:
  template <class Step>
  TaskId next_of_maker(TaskId task, Step step) const;

  const Plan& plan_;
  const TaskGraph& graph_;
  const std::vector<bool>& several_makers_;
};

}  // namespace penstock
