#include "experiments/plan/planner/planner.hpp"

#include "experiments/plan/planner/best_first.hpp"
#include "experiments/plan/planner/space/empty_space.hpp"

namespace penstock {

LayoutPlan plan_layouts(const TrainingTask& task, const Catalogue& catalogue,
                        const PlannerOptions& options) {
  const PlanBase base = plan_base(task, catalogue);
  const LayoutSpace space = space_of(task, options.space);
  LayoutPlan plan = BestFirst(base, space, options).run();
  if (space.legal == 0) plan.none_because = why_no_layout(task, options.space);
  return plan;
}

}  // namespace penstock
