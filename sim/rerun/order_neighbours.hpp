#pragma once

#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/rerun/task_graph.hpp"

namespace penstock {

/// Links with several sending ranks. On each of these, only transfers of the same rank are ordered.
std::vector<bool> links_with_several_makers(const Plan& plan);

/// What must precede and follow a task on its rank or link.
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
