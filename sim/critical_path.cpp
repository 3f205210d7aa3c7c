#include <algorithm>
#include <utility>

#include "sim/report.hpp"

namespace penstock {
namespace {

/// The task before each on its resource.
std::vector<TaskId> previous_on_resource(const Plan& plan) {
  std::vector<TaskId> last(plan.resources(), no_task), previous(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    previous[task] = std::exchange(last[plan.class_of(task).resource], task);
  }
  return previous;
}

/// The task that ends last; of equals, that of the lowest rank, and no transfer if there is an
/// action.
TaskId last_to_end(const Plan& plan, const Timeline& timeline) {
  TaskId latest = no_task;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (latest == no_task || timeline.end[task] > timeline.end[latest] ||
        (timeline.end[task] == timeline.end[latest] && resource < plan.class_of(latest).resource)) {
      latest = task;
    }
  }
  return latest;
}

/// What held a task back: of the task before on its resource and its last input, that which ended
/// later.
TaskId held_back_by(const Plan& plan, const Timeline& timeline, TaskId task, TaskId previous) {
  const TaskId input = timeline.last_input[task];
  if (input == no_task || previous == no_task) return input == no_task ? previous : input;
  if (is_transfer(plan.class_of(task).pass)) {
    // A transfer that starts after its producer has ended was queued behind the one before it.
    return timeline.begin[task] > timeline.end[input] ? previous : input;
  }
  return timeline.end[previous] >= timeline.end[input] ? previous : input;
}

}  // namespace

std::vector<TaskId> critical_path(const Plan& plan, const Timeline& timeline) {
  const std::vector<TaskId> previous = previous_on_resource(plan);
  std::vector<TaskId> path;
  TaskId task = last_to_end(plan, timeline);
  while (task != no_task) {
    // The parts of a fused cell run as one; the first stands for both.
    if (plan.class_of(task).follows_partner) --task;
    path.push_back(task);
    task = held_back_by(plan, timeline, task, previous[task]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace penstock
