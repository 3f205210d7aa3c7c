#include "experiments/measured_runs/host_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "validate/statistics/median.hpp"

namespace penstock {
namespace {

using ActionKey = std::tuple<Pass, Stage, Microbatch>;

ActionKey key_of(const Action& action) { return {action.pass, action.stage, action.microbatch}; }

/// The tasks of actions, and whether they read a tensor from another rank.
struct ActionTasks {
  std::map<ActionKey, TaskId> task;
  std::vector<bool> receives;  // by task
};

ActionTasks action_tasks(const Plan& plan) {
  ActionTasks all;
  all.receives.resize(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    all.task[{work.pass, work.stage, plan.microbatch[task]}] = task;
    plan.for_each_input(task, [&](TaskId input) {
      if (plan.is_link(plan.class_of(input).resource)) all.receives[task] = true;
    });
  }
  return all;
}

/// What the host does in front of an op that waits for nothing.
std::int64_t usual_lead(const ActionTasks& tasks, const std::vector<RunIteration>& iterations) {
  std::vector<double> leads;
  for (const RunIteration& iteration : iterations) {
    for (const auto& rank : iteration.ops) {
      for (const MeasuredOp& op : rank) {
        const TaskId task = tasks.task.at(key_of(op.action));
        if (!tasks.receives[task]) leads.push_back(static_cast<double>(op.lead_ns));
      }
    }
  }
  return leads.empty() ? 0 : std::llround(median(std::move(leads)));
}

}  // namespace

HostTimes host_times(const Plan& plan, const std::vector<RunIteration>& iterations) {
  const ActionTasks tasks = action_tasks(plan);
  const std::int64_t lead = usual_lead(tasks, iterations);
  HostTimes times;
  std::vector<double> all;
  bool any = false;
  for (const RunIteration& iteration : iterations) {
    std::vector<Time>& after = times.after.emplace_back(plan.tasks());
    for (const auto& rank : iteration.ops) {
      for (std::size_t i = 1; i < rank.size(); ++i) {
        const std::int64_t ns = rank[i].host_ns + std::min(rank[i].lead_ns, lead);
        after[tasks.task.at(key_of(rank[i - 1].action))] = from_ns(ns);
        all.push_back(static_cast<double>(ns));
        any = any || ns > 0;
      }
    }
  }
  if (!any) return {};
  times.typical_us = median(std::move(all)) / 1e3;
  return times;
}

}  // namespace penstock
