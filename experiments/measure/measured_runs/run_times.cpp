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
  return std::llround(median(std::move(leads)));
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

/// A transfer with the task that reads it, and the one before that on its rank.
struct Passage {
  TaskId transfer;
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

/// Whether a task reads what a transfer brings: written communication has ranks wait for what they
/// send, too.
bool receives(const Plan& plan, TaskId task, TaskId transfer) {
  const std::uint32_t resource = plan.class_of(transfer).resource;
  return plan.is_link(resource) && plan.link(resource).to == Rank{plan.class_of(task).resource};
}

bool sends(const Plan& plan, TaskId task, TaskId transfer) {
  const std::uint32_t resource = plan.class_of(transfer).resource;
  return plan.link(resource).from == Rank{plan.class_of(task).resource};
}

/// Whether the first part of an overlap cell has the input of the second one: PyTorch runs its
/// parts in turn, each once its own input is there.
bool is_of_second_part(const Plan& plan, TaskId first, TaskId transfer) {
  const bool activation = plan.class_of(transfer).pass == Pass::send_activation;
  return activation != (plan.class_of(first).pass == Pass::forward);
}

std::vector<Passage> passages(const Plan& plan) {
  const std::vector<TaskId> before = actions_before(plan);
  std::vector<TaskId> behind(plan.tasks(), no_task);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (before[task] != no_task) behind[before[task]] = task;
  }
  std::vector<Passage> all;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) continue;
    plan.for_each_input(task, [&](TaskId input) {
      if (!receives(plan, task, input)) return;
      const bool second = behind[task] != no_task && is_of_second_part(plan, task, input);
      const TaskId reader = second ? behind[task] : task;
      all.push_back({input, reader, before[reader]});
    });
  }
  return all;
}

/// When a transfer could have begun, with a free link: `end_of` tells when an action and what its
/// host does behind it had ended.
template <class EndOf>
Time start_of(const Plan& plan, TaskId transfer, const EndOf& end_of) {
  Time start{INT64_MIN};
  plan.for_each_input(transfer, [&](TaskId input) { start = std::max(start, end_of(input)); });
  return start;
}

/// Passages in the order in which their transfers could have begun.
template <class EndOf>
std::vector<std::pair<Time, Passage>> by_start(const Plan& plan, const std::vector<Passage>& all,
                                               const EndOf& end_of) {
  std::vector<std::pair<Time, Passage>> sorted;
  for (const Passage& passage : all) {
    sorted.emplace_back(start_of(plan, passage.transfer, end_of), passage);
  }
  std::ranges::stable_sort(sorted, {}, [](const auto& one) { return one.first; });
  return sorted;
}

/// The gaps of one link and pass.
struct Gaps {
  std::vector<double> waited;  // for readers whose rank was free
  std::int64_t least_behind_sender = INT64_MAX;
  std::int64_t least = INT64_MAX;
};

/// By work class: the transfer time of a link and pass. Where nobody waited, it is the median of
/// other stages on the link, else of other links, and no more than was left to the transfer.
std::vector<Time> typical_gaps(const Plan& plan, const std::vector<Gaps>& gaps) {
  std::map<Pass, std::vector<double>> of_pass;
  std::map<std::uint32_t, std::vector<double>> of_link;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].waited.empty()) continue;
    of_pass[plan.classes[i].pass].push_back(median(gaps[i].waited));
    of_link[plan.classes[i].resource].push_back(median(gaps[i].waited));
  }
  std::vector<Time> typical;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto others = of_pass.find(plan.classes[i].pass);
    const auto same = of_link.find(plan.classes[i].resource);
    std::int64_t gap = gaps[i].least == INT64_MAX ? 0 : gaps[i].least;
    if (!gaps[i].waited.empty()) {
      gap = std::llround(median(gaps[i].waited));
    } else if (same != of_link.end()) {
      gap = std::min<std::int64_t>(gap, std::llround(median(same->second)));
    } else if (others != of_pass.end()) {
      gap = std::min<std::int64_t>(gap, std::llround(median(others->second)));
    }
    typical.push_back(from_ns(std::max<std::int64_t>(gap, 0)));
  }
  return typical;
}

/// The median length of all actions, in nanoseconds.
double typical_action_ns(const Plan& plan, const std::vector<Timeline>& iterations) {
  std::vector<double> lengths;
  for (const Timeline& iteration : iterations) {
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      if (plan.is_link(plan.class_of(task).resource)) continue;
      lengths.push_back(static_cast<double>(to_ns(iteration.end[task] - iteration.begin[task])));
    }
  }
  return median(std::move(lengths));
}

/// By link: what its readers waited.
std::map<std::uint32_t, std::vector<double>> waits_by_link(const Plan& plan,
                                                           const std::vector<Gaps>& gaps) {
  std::map<std::uint32_t, std::vector<double>> of_link;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto& waited = gaps[i].waited;
    if (waited.empty()) continue;
    auto& all = of_link[plan.classes[i].resource];
    all.insert(all.end(), waited.begin(), waited.end());
  }
  return of_link;
}

/// The least time of each link, from when its tensors could leave to the begins of their readers.
std::vector<LinkTime> least_by_link(const Plan& plan, const std::vector<Gaps>& gaps) {
  std::map<std::uint32_t, std::int64_t> of_link;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].least == INT64_MAX) continue;
    std::int64_t& least = of_link.try_emplace(plan.classes[i].resource, INT64_MAX).first->second;
    least = std::min(least, gaps[i].least_behind_sender);
  }
  std::vector<LinkTime> all;
  for (const auto& [resource, ns] : of_link) {
    all.push_back({plan.link(resource), static_cast<double>(ns) / 1e3});
  }
  return all;
}

/// Fills in slow links, and from the others the typical time. A link that few waited for says
/// nothing.
void fill_links(const Plan& plan, const std::vector<Gaps>& gaps, TransferTimes& times) {
  constexpr std::size_t least = 3;
  const auto of_link = waits_by_link(plan, gaps);
  std::vector<double> medians;
  for (const auto& [resource, all] : of_link) {
    if (all.size() >= least) medians.push_back(median(all));
  }
  const double usual = lower_median(std::move(medians));
  std::vector<double> others;
  for (const auto& [resource, all] : of_link) {
    const double ns = median(all);
    if (all.size() >= least && is_slow(ns, usual, times.action_ns)) {
      times.slow.push_back({plan.link(resource), ns / 1e3});
    } else {
      others.insert(others.end(), all.begin(), all.end());
    }
  }
  if (!others.empty()) {
    times.typical_ns = std::max<std::int64_t>(std::llround(median(std::move(others))), 0);
  }
}

}  // namespace

Messages messages_of(const Plan& plan) {
  Messages messages{std::vector<std::uint32_t>(plan.tasks()),
                    std::vector<std::uint32_t>(plan.tasks())};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool moves = plan.is_link(plan.class_of(task).resource);
    plan.for_each_input(task, [&](TaskId input) {
      if (moves ? sends(plan, input, task) : receives(plan, task, input)) {
        ++(moves ? messages.sent[input] : messages.received[task]);
      }
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
  times.typical_us = median(std::move(behind_op));
  if (times.typical_us == 0) return {};
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    times.by_rank.push_back(share_of(tasks, iterations.front().ops[r]));
    times.by_rank.back().us = median(std::move(of_rank[r]));
  }
  return times;
}

bool is_slow(double ns, double usual_ns, double action_ns) {
  const double usual = std::max(0.0, usual_ns);  // clocks and hosts err
  return ns > std::max(2 * usual, usual + 0.02 * action_ns);
}

TransferTimes transfer_times(const Plan& plan, const std::vector<Timeline>& iterations,
                             const std::vector<std::vector<Time>>& host_after) {
  const auto free_after = [&](std::size_t iteration, TaskId task) {
    const Time end = iterations[iteration].end[task];
    return host_after.empty() ? end : end + host_after[iteration][task];
  };
  TransferTimes times;
  std::vector<Gaps> gaps(plan.classes.size());
  const std::vector<Passage> between = passages(plan);
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const auto end_of = [&](TaskId task) { return free_after(i, task); };
    std::vector<Time> link_free(plan.resources());
    const auto sorted = by_start(plan, between, end_of);
    std::vector<TaskId> awaited(plan.tasks(), no_task);  // by reader: what could begin last
    for (const auto& [sent, passage] : sorted) awaited[passage.reader] = passage.transfer;
    for (const auto& [sent, passage] : sorted) {
      const WorkClass& work = plan.class_of(passage.transfer);
      Gaps& of_class = gaps[plan.work[passage.transfer]];
      const Time read = iterations[i].begin[passage.reader];
      const std::int64_t gap = to_ns(read - std::max(sent, link_free[work.resource]));
      of_class.least = std::min(of_class.least, gap);
      of_class.least_behind_sender = std::min(of_class.least_behind_sender, to_ns(read - sent));
      const auto ended = [&](TaskId task) { return iterations[i].end[task]; };
      times.clock_error_ns =
          std::max(times.clock_error_ns, to_ns(start_of(plan, passage.transfer, ended) - read));
      if (awaited[passage.reader] != passage.transfer) continue;
      if (passage.before != no_task && end_of(passage.before) > sent) continue;
      link_free[work.resource] = read;
      of_class.waited.push_back(static_cast<double>(gap));
    }
  }
  times.by_class = typical_gaps(plan, gaps);
  times.action_ns = typical_action_ns(plan, iterations);
  times.least = least_by_link(plan, gaps);
  fill_links(plan, gaps, times);
  return times;
}

void place_transfers(const Plan& plan, const TransferTimes& times, Timeline& timeline) {
  const auto ended = [&](TaskId task) { return timeline.end[task]; };
  std::vector<Time> link_free(plan.resources());
  for (const auto& [sent, passage] : by_start(plan, passages(plan), ended)) {
    Time& free = link_free[plan.class_of(passage.transfer).resource];
    const Time read = std::max(sent, timeline.begin[passage.reader]);
    const Time begin = std::min(std::max(sent, free), read);
    timeline.begin[passage.transfer] = begin;
    timeline.end[passage.transfer] =
        std::min(begin + times.by_class[plan.work[passage.transfer]], read);
    free = std::max(free, timeline.end[passage.transfer]);
  }
  find_last_inputs(plan, timeline);
}

}  // namespace penstock
