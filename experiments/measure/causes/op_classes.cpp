#include "experiments/measure/causes/op_classes.hpp"

#include <algorithm>
#include <cmath>

#include "validate/statistics/summary.hpp"

namespace penstock {

OpClasses::OpClasses(const MeasuredStep& step, const ExpectedOps* expected)
    : step_(step), plan_(*step.plan), expected_(expected), tasks_(plan_.classes.size()) {
  for (const WorkClass& work : plan_.classes) kinds_.push_back(kind_of(plan_, work));
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    if (!plan_.class_of(task).follows_partner) tasks_[plan_.work[task]].push_back(task);
  }
}

std::vector<double> OpClasses::distances(std::uint32_t number, const OpModel& model) const {
  std::vector<double> all;
  for (const TaskId task : tasks_[number]) {
    const double usual = model.usual[number] * model.microbatch[model.share_of[task]];
    if (length(task) > 0 && usual > 0) all.push_back(std::abs(std::log(length(task) / usual)));
  }
  return all;
}

double scatter_of(std::vector<double> distances, std::size_t fitted) {
  const auto ops = static_cast<double>(distances.size());
  const double free = std::max(1.0, ops - static_cast<double>(fitted));
  return 1.4826 * median(std::move(distances)) * std::sqrt(ops / free);
}

double error_of(const OpModel& model, double ops, double others, double scatter) {
  if (ops <= 0 || others <= 0) return 0;
  const double jitter = model.jitter;
  return error_of_median * std::sqrt(scatter * scatter / ops + jitter * jitter / others);
}

}  // namespace penstock
