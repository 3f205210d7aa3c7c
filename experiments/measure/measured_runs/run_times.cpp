#include "experiments/measure/measured_runs/run_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

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

/// A transfer with the tasks at both ends, and the previous task of the reader's rank.
struct Passage {
  TaskId transfer;
  TaskId maker;
  TaskId reader;
  TaskId before;  // no_task: the reader is the first of its rank
};

/// The previous action on the same rank, by task.
std::vector<TaskId> actions_before(const Plan& plan) {
  std::vector<TaskId> before(plan.tasks(), no_task);
  const ResourceOrders orders = resource_orders(plan);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (std::uint32_t i = orders.first[rank] + 1; i < orders.first[rank + 1]; ++i) {
      before[orders.tasks[i]] = orders.tasks[i - 1];
    }
  }
  return before;
}

std::vector<Passage> passages(const Plan& plan) {
  const std::vector<TaskId> before = actions_before(plan);
  std::vector<Passage> all;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    plan.for_each_input(task, [&](TaskId input) {
      if (!plan.is_link(plan.class_of(input).resource)) return;
      plan.for_each_input(input, [&](TaskId maker) {
        all.push_back({input, maker, task, before[task]});
      });
    });
  }
  return all;
}

/// The gaps of one link and pass.
struct Gaps {
  std::vector<double> waited;  // for readers whose rank was free
  std::int64_t least = INT64_MAX;
};

std::int64_t typical(const Gaps& gaps) {
  const std::int64_t gap = !gaps.waited.empty()      ? std::llround(median(gaps.waited))
                           : gaps.least == INT64_MAX ? 0
                                                     : gaps.least;
  return std::max<std::int64_t>(gap, 0);
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

TransferTimes transfer_times(const Plan& plan, const std::vector<Timeline>& iterations,
                             const std::vector<std::vector<Time>>& host_after) {
  const auto free_after = [&](std::size_t iteration, TaskId task) {
    const Time end = iterations[iteration].end[task];
    return host_after.empty() ? end : end + host_after[iteration][task];
  };
  TransferTimes times;
  std::vector<Gaps> gaps(plan.classes.size());
  std::vector<double> all;
  for (const Passage& passage : passages(plan)) {
    Gaps& of_class = gaps[plan.work[passage.transfer]];
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const Time read = iterations[i].begin[passage.reader];
      const Time sent = free_after(i, passage.maker);
      const std::int64_t gap = to_ns(read - sent);
      of_class.least = std::min(of_class.least, gap);
      times.clock_error_ns =
          std::max(times.clock_error_ns, to_ns(iterations[i].end[passage.maker] - read));
      if (passage.before != no_task && free_after(i, passage.before) > sent) continue;
      of_class.waited.push_back(static_cast<double>(gap));
      all.push_back(static_cast<double>(gap));
    }
  }
  for (const Gaps& of_class : gaps) times.by_class.push_back(from_ns(typical(of_class)));
  if (!all.empty()) {
    times.typical_ns = std::max<std::int64_t>(std::llround(median(std::move(all))), 0);
  }
  return times;
}

void place_transfers(const Plan& plan, const TransferTimes& times, Timeline& timeline) {
  for (const Passage& passage : passages(plan)) {
    const Time sent = timeline.end[passage.maker];
    const Time read = std::max(sent, timeline.begin[passage.reader]);
    timeline.begin[passage.transfer] = sent;
    timeline.end[passage.transfer] =
        std::min(sent + times.by_class[plan.work[passage.transfer]], read);
  }
  find_last_inputs(plan, timeline);
}

}  // namespace penstock
