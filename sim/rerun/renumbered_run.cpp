#include "sim/rerun/renumbered_run.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The tasks with new numbers, and those that refer to them.
std::vector<TaskId> concerned(const Renumbering& numbers, const Plan& plan,
                              const TaskGraph& graph) {
  std::vector<TaskId> found = numbers.tasks();
  const auto add = [&](TaskId task) {
    if (!numbers.holds(task)) found.push_back(task);
  };
  for (const TaskId task : numbers.tasks()) {
    plan.for_each_input(task, add);
    graph.for_each_reader(task, add);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void rename_followers(const Renumbering& numbers, std::vector<TaskId>& followers) {
  const auto moves = [&](TaskId task) { return numbers.holds(task); };
  const auto first = std::partition_point(followers.begin(), followers.end(), [&](TaskId task) {
    return task < *std::min_element(numbers.tasks().begin(), numbers.tasks().end());
  });
  const auto end = std::find_if_not(first, followers.end(), moves);
  for (auto follower = first; follower != end; ++follower) *follower = numbers.of(*follower);
  std::sort(first, end);
}

}  // namespace

void renumber(const Renumbering& numbers, Plan& plan, TaskGraph& graph, Costs& costs,
              Timeline& timeline) {
  for (const TaskId task : concerned(numbers, plan, graph)) {
    numbers.rename(plan.input[task], plan.inputs);
    timeline.last_input[task] = numbers.of(timeline.last_input[task]);
    graph.rename(task, numbers);
  }
  graph.move(numbers);
  numbers.move(plan.work);
  numbers.move(plan.microbatch);
  numbers.move(plan.input);
  numbers.move(costs.task_duration);
  numbers.move(costs.task_latency);
  numbers.move(timeline.begin);
  numbers.move(timeline.end);
  numbers.move(timeline.last_input);
  rename_followers(numbers, plan.followers);
}

}  // namespace penstock
