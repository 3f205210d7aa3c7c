#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"
#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock {

/// The plan for a question about the best layout alone.
LayoutPlan best_plan(const TrainingTask& task, const Catalogue& catalogue, PlannerOptions planner);

/// The plan of layouts that a framework has without further flags: 1F1B, nothing recomputed,
/// gradients and weights whole.
LayoutPlan plain_plan(const LayoutPlan& plan, const Catalogue& catalogue,
                      const PlannerOptions& planner);

/// Simulated layouts that fit, memory over step time, with their front and the best of the plain
/// ones.
FrontPlot plan_plot(const LayoutPlan& plan, const LayoutPlan& plain);

/// Why the best layout with these values loses to the best of a plan: where both spend their time,
/// and what forces it, memory or a rule.
std::string why_text(const LayoutPlan& plan, const Catalogue& catalogue,
                     const PlannerOptions& planner, const Restrictions& why);
nlohmann::ordered_json why_json(const LayoutPlan& plan, const Catalogue& catalogue,
                                const PlannerOptions& planner, const Restrictions& why);

/// The best layout on each stack that lists the device, and whether it is of the family of the best
/// of a plan.
std::string stacks_text(const LayoutPlan& plan, const Catalogue& catalogue,
                        const PlannerOptions& planner);
nlohmann::ordered_json stacks_json(const LayoutPlan& plan, const Catalogue& catalogue,
                                   const PlannerOptions& planner);

/// How the best layout moves when the hardware changes.
std::string change_text(const LayoutPlan& before, const LayoutPlan& after,
                        const std::string& change);
nlohmann::ordered_json change_json(const LayoutPlan& before, const LayoutPlan& after,
                                   const std::string& change);

/// The best layouts of several tasks on the stacks of the first: those with whole gradients and
/// those with sharded ones apart.
std::vector<std::vector<LayoutPlan>> comparisons(const std::vector<TrainingTask>& tasks,
                                                 const Catalogue& catalogue,
                                                 const PlannerOptions& planner);
/// Such plans as a table; speeds are over that of the first where a layout fits.
std::string machines_text(const std::vector<LayoutPlan>& plans);
nlohmann::ordered_json machines_json(const std::vector<LayoutPlan>& plans);

}  // namespace penstock
