#include "experiments/plan/planner/framework_gain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

constexpr double most_seconds = 30;

std::string why_not(const Framework& framework, const TrainingTask& task,
                    const LayoutChoice& choice) {
  const char* why = why_not_in(framework, task, choice);
  return why == nullptr ? "" : why;
}

}  // namespace

std::optional<FrameworkGain> framework_gain(const LayoutPlan& plan, const Catalogue& catalogue,
                                            PlannerOptions options) {
  const Framework* framework = plan.task.framework;
  if (framework == nullptr) return std::nullopt;
  TrainingTask task = plan.task;
  task.framework = nullptr;
  options.best = 1;
  options.most_seconds = most_seconds;
  const LayoutPlan all = plan_layouts(task, catalogue, options);
  if (all.fitting.empty() || !all.fitting.front().trial.fits()) return std::nullopt;
  FrameworkGain gain{.best = all.fitting.front(), .stopped = all.stopped};
  gain.why = why_not(*framework, plan.task, gain.best.choice);
  if (gain.why.empty()) return std::nullopt;
  if (plan.fitting.empty() || !plan.fitting.front().trial.fits()) return gain;
  gain.share = 1 - to_us(gain.best.trial.makespan) / to_us(plan.fitting.front().trial.makespan);
  return *gain.share > 0 ? std::optional(gain) : std::nullopt;
}

std::string gain_text(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain) {
  if (plan.task.framework == nullptr) return "";
  const std::string_view name = plan.task.framework->name;
  if (!gain) return fmt::format("no layout that {} cannot run is faster\n", name);
  const std::string layout = text_of(gain->best.choice);
  if (!gain->share) return fmt::format("{}; a layout beyond that fits: {}\n", gain->why, layout);
  return fmt::format("{}; a layout beyond that would gain {}{}: {}\n", gain->why,
                     gain->stopped ? "at least " : "", percent_text(*gain->share), layout);
}

ordered_json gain_json(const LayoutPlan& plan, const std::optional<FrameworkGain>& gain) {
  if (plan.task.framework == nullptr) return nullptr;
  ordered_json all{{"name", plan.task.framework->name}, {"gain", nullptr}};
  if (!gain) return all;
  all["gain"] = {{"share", or_null(gain->share)},
                 {"why", gain->why},
                 {"layout", text_of(gain->best.choice)},
                 {"makespan_us", to_us(gain->best.trial.makespan)},
                 {"at_least", gain->stopped}};
  return all;
}

}  // namespace penstock
