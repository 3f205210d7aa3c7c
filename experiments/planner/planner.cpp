#include "experiments/planner/planner.hpp"

#include "experiments/planner/best_first.hpp"

namespace penstock {

LayoutPlan plan_layouts(const TrainingTask& task, const Catalogue& catalogue,
                        const PlannerOptions& options) {
  const PlanBase base = plan_base(task, catalogue);
  const LayoutSpace space = space_of(task, options.space);
  return BestFirst(base, space, options).run();
}

}  // namespace penstock
