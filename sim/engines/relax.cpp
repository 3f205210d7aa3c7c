#include "sim/engines/relax.hpp"

#include <algorithm>

#include "sim/base/large_pages.hpp"

namespace penstock {
namespace {

/// The fields of a work class that the loop needs, contiguous.
struct ClassCost {
  Time duration;
  Time latency;
  std::uint32_t resource;
  bool launched;  // by its rank's host; the second part of a fused cell comes with the first
};

std::vector<ClassCost> class_costs(const Plan& plan, const Costs& costs) {
  std::vector<ClassCost> all;
  all.reserve(plan.classes.size());
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    all.push_back({costs.duration[c], costs.latency[c], work.resource,
                   !plan.is_link(work.resource) && !work.follows_partner});
  }
  return all;
}

/// The input of a task that arrived last; ties go to the first.
TaskId last_of(const Plan& plan, TaskId task, const Time* end) {
  TaskId last = no_task;
  plan.for_each_input(task, [&](TaskId input) {
    if (last == no_task || end[input] > end[last]) last = input;
  });
  return last;
}

/// The pass over the tasks, specialised so that rare features cost nothing: `by_task` when tasks of
/// a class differ, `launches` when actions wait for their host.
template <bool by_task, bool launches>
void run_tasks(const Plan& plan, const Costs& costs, Timeline& timeline) {
  const std::vector<ClassCost> class_cost = class_costs(plan, costs);
  std::vector<Time> free_at(plan.resources());
  std::vector<Time> launched_at(plan.ranks, costs.launch);  // the last action of each rank
  // Plain pointers: the compiler cannot see that the arrays do not alias.
  Time* const begin = timeline.begin.data();
  Time* const end = timeline.end.data();
  TaskId* const last_input = timeline.last_input.data();
  const std::uint32_t tasks = plan.tasks();
  for (TaskId task = 0; task < tasks; ++task) {
    const ClassCost& cost = class_cost[plan.work[task]];
    Time& free = free_at[cost.resource];
    TaskId input = plan.input[task];
    Time start = free;
    if (input != no_task) {
      if ((input & Plan::several) != 0) input = last_of(plan, task, end);
      start = std::max(start, end[input]);
    }
    if constexpr (launches) {
      if (cost.launched) start = std::max(start, launched_at[cost.resource] += costs.issue);
    }
    begin[task] = start;
    free = start + (by_task ? costs.duration_of(plan, task) : cost.duration);
    end[task] = free + (by_task ? costs.latency_of(plan, task) : cost.latency);
    last_input[task] = input;
  }
}

}  // namespace

Timeline relax(const PricedPlan& priced, Timeline reused) {
  const auto& [plan, costs, conditions] = priced;
  resize_large(reused.begin, plan.tasks());
  resize_large(reused.end, plan.tasks());
  resize_large(reused.last_input, plan.tasks());
  reused.slowed.clear();
  reused.memory_wait.clear();
  reused.memory.clear();
  const bool by_task = !costs.task_duration.empty() || !costs.task_latency.empty();
  const auto run = costs.has_launches()
                       ? (by_task ? run_tasks<true, true> : run_tasks<false, true>)
                       : (by_task ? run_tasks<true, false> : run_tasks<false, false>);
  run(plan, costs, reused);
  for (const TaskId task : plan.followers) reused.begin[task] = reused.begin[task - 1];
  return reused;
}

}  // namespace penstock
