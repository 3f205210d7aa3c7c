#include "experiments/measure/measured_runs/transfer_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

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
