#include "experiments/plan/planner/framework_gain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_answers.hpp"
#include "experiments/plan/planner/space/framework.hpp"

namespace penstock {
namespace {

/// The best layout of any framework. The framework's own cuts take part.
LayoutPlan plan_of_any(TrainingTask task, const Catalogue& catalogue, PlannerOptions options) {
  task.framework = nullptr;
  for (const std::string& usual : SpaceOptions{}.partitions) {
    auto& cuts = options.space.partitions;
    if (std::find(cuts.begin(), cuts.end(), usual) == cuts.end()) cuts.push_back(usual);
  }
  return best_plan(task, catalogue, std::move(options));
}

}  // namespace

std::optional<FrameworkGain> framework_gain(const LayoutPlan& plan, const Catalogue& catalogue,
                                            PlannerOptions options) {
  const Framework* framework = plan.task.framework;
  if (framework == nullptr) return std::nullopt;
  const LayoutPlan all = plan_of_any(plan.task, catalogue, std::move(options));
  FrameworkGain gain{.stopped = all.stopped};
  if (all.fitting.empty()) return gain;
  const JudgedLayout& best = all.fitting.front();
  const char* why = why_not_in(*framework, plan.task, best.choice);
  if (!plan.fitting.empty()) {
    gain.share = 1 - best.trial.pace() / plan.fitting.front().trial.pace();
  }
  if (why == nullptr || gain.share.value_or(1) <= 0) return gain;
  gain.best = best;
  gain.why = why;
  return gain;
}

std::string gain_text(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain) {
  if (!gain) return "";
  if (!gain->best) {
    return fmt::format("no layout that {} cannot run {}\n", plan.task.framework->name,
                       gain->stopped ? "was found to be faster in the time" : "is faster");
  }
  const std::string layout = text_of(gain->best->choice);
  if (!gain->share) return fmt::format("{}; a layout beyond that fits: {}\n", gain->why, layout);
  return fmt::format("{}; a layout beyond that would gain {}{}: {}\n", gain->why,
                     gain->stopped ? "at least " : "", percent_text(*gain->share), layout);
}

ordered_json gain_json(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain) {
  if (!gain) return nullptr;
  ordered_json all{
      {"name", plan.task.framework->name}, {"gain", nullptr}, {"stopped", gain->stopped}};
  if (!gain->best) return all;
  all["gain"] = {{"share", or_null(gain->share)},
                 {"why", gain->why},
                 {"layout", text_of(gain->best->choice)},
                 {"makespan_us", to_us(gain->best->trial.makespan)}};
  return all;
}

}  // namespace penstock
