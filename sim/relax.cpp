#include "sim/relax.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// What the loop needs of a work class, side by side.
struct ClassCost {
  Time duration;
  Time latency;
  std::uint32_t resource;
};

std::vector<ClassCost> class_costs(const Plan& plan, const Costs& costs) {
  std::vector<ClassCost> all;
  all.reserve(plan.classes.size());
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    all.push_back({costs.duration[c], costs.latency[c], plan.classes[c].resource});
  }
  return all;
}

/// Of the inputs of a task that has several, the one that arrived last; the first of equals.
TaskId last_of(const Plan& plan, TaskId task, const Time* end) {
  TaskId last = no_task;
  plan.for_each_input(task, [&](TaskId input) {
    if (last == no_task || end[input] > end[last]) last = input;
  });
  return last;
}

}  // namespace

void relax(const Plan& plan, const Costs& costs, Timeline& timeline) {
  const std::uint32_t tasks = plan.tasks();
  timeline.begin.resize(tasks);
  timeline.end.resize(tasks);
  timeline.last_input.resize(tasks);
  timeline.slowed.clear();
  timeline.memory_wait.clear();
  timeline.memory.clear();
  const std::vector<ClassCost> class_cost = class_costs(plan, costs);
  std::vector<Time> free_at(plan.resources());
  // Plain pointers: the compiler cannot see that the arrays do not alias.
  Time* const begin = timeline.begin.data();
  Time* const end = timeline.end.data();
  TaskId* const last_input = timeline.last_input.data();
  for (TaskId task = 0; task < tasks; ++task) {
    const ClassCost& cost = class_cost[plan.work[task]];
    Time& free = free_at[cost.resource];
    TaskId input = plan.input[task];
    Time start = free;
    if (input != no_task) {
      if ((input & Plan::several) != 0) input = last_of(plan, task, end);
      start = std::max(start, end[input]);
    }
    begin[task] = start;
    free = start + cost.duration;
    end[task] = free + cost.latency;
    last_input[task] = input;
  }
  for (const TaskId task : plan.followers) begin[task] = begin[task - 1];
}

}  // namespace penstock
