#include "experiments/measure/measured_runs/host_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

using ActionKey = std::tuple<Pass, Stage, Microbatch>;

ActionKey key_of(const Action& action) { return {action.pass, action.stage, action.microbatch}; }

/// The tasks of actions, and the tensors that these send and receive.
struct ActionTasks {
  std::map<ActionKey, TaskId> task;
  Messages messages;

  TaskId of(const MeasuredOp& op) const { return task.at(key_of(op.action)); }
};

ActionTasks action_tasks(const Plan& plan) {
  ActionTasks all{.task = {}, .messages = messages_of(plan)};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    all.task[{work.pass, work.stage, plan.microbatch[task]}] = task;
  }
  return all;
}

/// What the host does in front of an op that waits for nothing.
std::int64_t usual_lead(const ActionTasks& tasks, const std::vector<RunIteration>& iterations) {
  std::vector<double> leads;
  for (const RunIteration& iteration : iterations) {
    for (const auto& rank : iteration.ops) {
      for (const MeasuredOp& op : rank) {
        if (tasks.messages.received[tasks.of(op)] > 0) continue;
        leads.push_back(static_cast<double>(op.lead_ns));
      }
    }
  }
  return leads.empty() ? 0 : std::llround(median(std::move(leads)));
}

/// What the host of a rank does behind which of its ops, without the time.
HostShare share_of(const ActionTasks& tasks, const std::vector<MeasuredOp>& ops) {
  HostShare share;
  for (std::size_t i = 1; i < ops.size(); ++i) {
    ++share.ops;
    share.messages += tasks.messages.sent[tasks.of(ops[i - 1])];
    share.messages += tasks.messages.received[tasks.of(ops[i])];
  }
  return share;
}

}  // namespace

Messages messages_of(const Plan& plan) {
  Messages messages{std::vector<std::uint32_t>(plan.tasks()),
                    std::vector<std::uint32_t>(plan.tasks())};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    plan.for_each_input(task, [&](TaskId input) {
      if (plan.is_link(plan.class_of(input).resource) == moves) return;
      ++(moves ? messages.sent[input] : messages.received[task]);
    });
  }
  return messages;
}

HostTimes host_times(const Plan& plan, const std::vector<RunIteration>& iterations) {
  const ActionTasks tasks = action_tasks(plan);
  const std::int64_t lead = usual_lead(tasks, iterations);
  HostTimes times;
  std::vector<double> behind_op;
  std::vector<std::vector<double>> of_rank(plan.ranks);
  for (const RunIteration& iteration : iterations) {
    std::vector<Time>& after = times.after.emplace_back(plan.tasks());
    double all_us = 0;
    double ops = 0;
    for (std::size_t r = 0; r < iteration.ops.size(); ++r) {
      const std::vector<MeasuredOp>& rank = iteration.ops[r];
      double us = 0;
      for (std::size_t i = 1; i < rank.size(); ++i, ++ops) {
        const std::int64_t ns = rank[i].host_ns + std::min(rank[i].lead_ns, lead);
        after[tasks.of(rank[i - 1])] = from_ns(ns);
        us += static_cast<double>(ns) / 1e3;
      }
      of_rank[r].push_back(us);
      all_us += us;
    }
    behind_op.push_back(ops > 0 ? all_us / ops : 0);
  }
  times.typical_us = behind_op.empty() ? 0 : median(std::move(behind_op));
  if (times.typical_us == 0) return {};
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    times.by_rank.push_back(share_of(tasks, iterations.front().ops[r]));
    times.by_rank.back().us = median(std::move(of_rank[r]));
  }
  return times;
}

}  // namespace penstock
