#include "sim/rerun/whole_costs.hpp"

#include <algorithm>
#include <vector>

namespace penstock {
namespace {

bool has_negative(const std::vector<Time>& times) {
  return std::any_of(times.begin(), times.end(), [](Time time) { return time < Time{}; });
}

double in_double(Time time) { return static_cast<double>(time.picoseconds); }

/// For tasks with the costs of their classes.
double total_by_class(const Plan& plan, const Costs& costs) {
  std::vector<std::uint32_t> tasks(plan.classes.size());
  for (const std::uint32_t work : plan.work) ++tasks[work];
  double total = 0;
  for (std::size_t work = 0; work < tasks.size(); ++work) {
    total += tasks[work] * (in_double(costs.duration[work]) + in_double(costs.latency[work]));
  }
  return total;
}

double total_by_task(const Plan& plan, const Costs& costs) {
  double total = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    total += in_double(costs.duration_of(plan, task)) + in_double(costs.latency_of(plan, task));
  }
  return total;
}

}  // namespace

double total_time(const Plan& plan, const Costs& costs) {
  const bool by_class = costs.task_duration.empty() && costs.task_latency.empty();
  return in_double(costs.launch) + in_double(costs.issue) * plan.tasks() +
         (by_class ? total_by_class(plan, costs) : total_by_task(plan, costs));
}

std::optional<Refused> fault_of(const Plan& plan, const Costs& costs) {
  const auto fits = [&](const std::vector<Time>& times) {
    return times.empty() || times.size() == plan.tasks();
  };
  if (costs.duration.size() != plan.classes.size() || costs.latency.size() != plan.classes.size() ||
      costs.bytes.size() != plan.buffers.size() || !fits(costs.task_duration) ||
      !fits(costs.task_latency)) {
    return Refused{"the costs belong to another plan"};
  }
  if (costs.issue < Time{} || costs.launch < Time{} || has_negative(costs.duration) ||
      has_negative(costs.latency) || has_negative(costs.task_duration) ||
      has_negative(costs.task_latency)) {
    return Refused{"a time must not be negative"};
  }
  if (total_time(plan, costs) > most_picoseconds) return beyond_clock();
  return std::nullopt;
}

Refused beyond_clock() {
  return {
      "the times of all tasks would add up to more than 104 days, the range of the clock"
      "runs"};
}

TaskId first_difference(const Plan& plan, const Costs& a, const Costs& b) {
  if (a.issue != b.issue || a.launch != b.launch) return 0;
  TaskId task = 0;
  while (task < plan.tasks() && a.duration_of(plan, task) == b.duration_of(plan, task) &&
         a.latency_of(plan, task) == b.latency_of(plan, task)) {
    ++task;
  }
  return task;
}

}  // namespace penstock
