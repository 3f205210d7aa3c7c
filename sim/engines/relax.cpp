#include "sim/engines/relax.hpp"

#include <algorithm>
#include <utility>

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

/// Progress of a run.
struct Progress {
  TaskId next;
  std::vector<Time> free_at;  // by resource
  // By rank: the earliest start of its last action by host launch.
  std::vector<Time> launched_at;
};

Progress nothing_done(const Plan& plan, const Costs& costs) {
  return {0, std::vector<Time>(plan.resources()), std::vector<Time>(plan.ranks, costs.launch)};
}

/// The progress of a run whose tasks before `first` have their times.
Progress progress_before(TaskId first, const Plan& plan, const Costs& costs,
                         const Timeline& timeline) {
  Progress progress = nothing_done(plan, costs);
  progress.next = first;
  const bool launches = costs.has_launches();
  std::vector<bool> known(plan.resources());
  std::uint32_t unknown = plan.resources();
  for (TaskId task = first; task > 0 && (unknown > 0 || launches);) {
    const WorkClass& work = plan.class_of(--task);
    if (!known[work.resource]) {
      known[work.resource] = true;
      --unknown;
      progress.free_at[work.resource] = timeline.end[task] - costs.latency_of(plan, task);
    }
    const bool launched = !plan.is_link(work.resource) && !work.follows_partner;
    if (launched) progress.launched_at[work.resource] += costs.issue;
  }
  return progress;
}

/// The pass over the tasks, specialised so that rare features cost nothing: `by_task` when tasks of
/// a class differ, `launches` when actions wait for their host.
template <bool by_task, bool launches>
void run_tasks(const Plan& plan, const Costs& costs, Progress from, Timeline& timeline) {
  const std::vector<ClassCost> class_cost = class_costs(plan, costs);
  // Plain pointers: the compiler cannot see that the arrays do not alias.
  Time* const begin = timeline.begin.data();
  Time* const end = timeline.end.data();
  TaskId* const last_input = timeline.last_input.data();
  const std::uint32_t tasks = plan.tasks();
  for (TaskId task = from.next; task < tasks; ++task) {
    const ClassCost& cost = class_cost[plan.work[task]];
    Time& free = from.free_at[cost.resource];
    TaskId input = plan.input[task];
    Time start = free;
    if (input != no_task) {
      if ((input & Plan::several) != 0) input = last_of(plan, task, end);
      start = std::max(start, end[input]);
    }
    if constexpr (launches) {
      if (cost.launched) start = std::max(start, from.launched_at[cost.resource] += costs.issue);
    }
    begin[task] = start;
    free = start + (by_task ? costs.duration_of(plan, task) : cost.duration);
    end[task] = free + (by_task ? costs.latency_of(plan, task) : cost.latency);
    last_input[task] = input;
  }
}

void run_from(Progress from, const Plan& plan, const Costs& costs, Timeline& timeline) {
  const bool by_task = !costs.task_duration.empty() || !costs.task_latency.empty();
  const auto run = costs.has_launches()
                       ? (by_task ? run_tasks<true, true> : run_tasks<false, true>)
                       : (by_task ? run_tasks<true, false> : run_tasks<false, false>);
  run(plan, costs, std::move(from), timeline);
  for (const TaskId task : plan.followers) timeline.begin[task] = timeline.begin[task - 1];
}

}  // namespace

Timeline relax(const PricedPlan& priced, Timeline reused) {
  const auto& [plan, costs, conditions] = priced;
  reused.begin.resize(plan.tasks());
  reused.end.resize(plan.tasks());
  reused.last_input.resize(plan.tasks());
  reused.slowed.clear();
  reused.memory_wait.clear();
  reused.memory.clear();
  run_from(nothing_done(plan, costs), plan, costs, reused);
  return reused;
}

void relax_from(TaskId first, const PricedPlan& priced, Timeline& timeline) {
  const auto& [plan, costs, conditions] = priced;
  run_from(progress_before(first, plan, costs, timeline), plan, costs, timeline);
}

}  // namespace penstock
