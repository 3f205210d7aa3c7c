#include "gui/models/run/slack.hpp"

#include <algorithm>
#include <cstdint>

namespace penstock {

std::vector<float> slack_of(const Plan& plan, const Timeline& timeline) {
  const std::int64_t end_of_run = makespan(plan, timeline).picoseconds;
  std::vector<std::int64_t> slack(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    slack[task] = end_of_run - timeline.end[task].picoseconds;
  }
  std::vector<TaskId> behind(plan.resources(), no_task);
  for (TaskId task = plan.tasks(); task-- > 0;) {
    const auto through = [&](TaskId before, TaskId after) {
      const std::int64_t wait =
          std::max<std::int64_t>(0, (timeline.begin[after] - timeline.end[before]).picoseconds);
      slack[before] = std::min(slack[before], wait + slack[after]);
    };
    TaskId& next = behind[plan.class_of(task).resource];
    if (next != no_task) through(task, next);
    next = task;
    // The slack of a task is known here: all that follow it have higher numbers.
    plan.for_each_input(task, [&](TaskId input) { through(input, task); });
  }
  std::vector<float> shares;
  shares.reserve(slack.size());
  const double whole = std::max(1.0, static_cast<double>(end_of_run));
  for (const std::int64_t own : slack) {
    shares.push_back(static_cast<float>(static_cast<double>(own) / whole));
  }
  return shares;
}

}  // namespace penstock
