#include "validate/training/plan_cells.hpp"

#include <algorithm>

namespace penstock {

std::map<CellKey, std::uint32_t> versions_used(const Plan& plan, Rank rank,
                                               const WeightRule& rule) {
  const ResourceOrders orders = resource_orders(plan);
  std::map<CellKey, std::uint32_t> used;
  std::map<Stage, std::uint32_t> newest;
  for (std::uint32_t at = orders.first[index(rank)]; at < orders.first[index(rank) + 1]; ++at) {
    const TaskId task = orders.tasks[at];
    const WorkClass& work = plan.class_of(task);
    const CellKey cell{work.stage, plan.microbatch[task]};
    const std::uint32_t now = newest[work.stage];
    if (work.pass == Pass::forward) used[cell] = now;
    if (work.pass == Pass::update) ++newest[work.stage];
    const bool delayed = ends_activation(work.pass) && rule.use == WeightUse::delayed;
    if (delayed) used[cell] = now - std::min(now, rule.delay);
  }
  return used;
}

std::set<CellKey> recomputed_cells(const Plan& plan) {
  std::set<CellKey> recomputed;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const bool again = work.pass == Pass::recompute || work.recomputes;
    if (again) recomputed.insert({work.stage, plan.microbatch[task]});
  }
  return recomputed;
}

bool has_backward(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(),
                     [](const WorkClass& work) { return gives_gradient(work.pass); });
}

}  // namespace penstock
