#include "experiments/show/explanation/explain.hpp"

#include <algorithm>
#include <map>

#include "experiments/show/explanation/advice.hpp"

namespace penstock {
namespace {

/// The number of predictions to check by simulation.
constexpr std::size_t most_sensitivities = 8;

std::vector<PathStretch> stretches_of(const Plan& plan, const std::vector<PathStep>& path) {
  std::vector<PathStretch> stretches;
  for (const PathStep& step : path) {
    const std::uint32_t resource = plan.class_of(step.task).resource;
    const bool opens = stretches.empty() || stretches.back().resource != resource;
    // Leaves out free transfers and steps without duration.
    const bool moves = plan.is_link(resource) || moves_stash(plan.class_of(step.task).pass);
    if (step.begin == step.end && (opens || moves)) continue;
    if (opens) stretches.push_back({resource, step.task, step.task, 0, step.begin, step.end});
    PathStretch& stretch = stretches.back();
    stretch.last = step.task;
    stretch.end = step.end;
    stretch.waits += step.waits;
    ++stretch.tasks;
  }
  return stretches;
}

std::vector<PathShare> shares_of(const Plan& plan, const std::vector<PathStep>& path) {
  std::map<std::pair<Pass, Stage>, PathShare> by_work;
  for (const PathStep& step : path) {
    const WorkClass& work = plan.class_of(step.task);
    PathShare& share =
        by_work.try_emplace({work.pass, work.stage}, PathShare{work.pass, work.stage})
            .first->second;
    share.time += step.work();
    ++share.tasks;
  }
  std::vector<PathShare> shares;
  for (const auto& [key, share] : by_work) {
    if (share.time > Time{}) shares.push_back(share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  return shares;
}

}  // namespace

Explanation explain_times(const RunResult& result) {
  const Plan& plan = *result.plan;
  const std::vector<PathStep>& path = result.report->critical_path;
  Explanation explanation;
  explanation.path = stretches_of(plan, path);
  explanation.shares = shares_of(plan, path);
  for (const PathStep& step : path) explanation.waits += step.waits;
  explanation.gaps = idle_gaps(plan, result.timeline);
  std::stable_sort(
      explanation.gaps.begin(), explanation.gaps.end(),
      [](const IdleGap& a, const IdleGap& b) { return a.end - a.begin > b.end - b.begin; });
  for (const IdleGap& gap : explanation.gaps) explanation.idle += gap.causes;
  explanation.advice = advice_for(result, explanation);
  return explanation;
}

Explanation explain(const RunResult& result) {
  Explanation explanation = explain_times(result);
  explanation.sensitivity = sensitivities(result, most_sensitivities);
  return explanation;
}

}  // namespace penstock
