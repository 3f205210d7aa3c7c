#include "experiments/plan/planner/bounds/bound_by.hpp"

#include <algorithm>

#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Whether chance may make an action or a transfer shorter than its price.
bool may_shorten(const Scenario& scenario) {
  const auto shortens = [](const auto& one) { return one.factor < 1; };
  const auto any = [&](const auto& all) { return std::any_of(all.begin(), all.end(), shortens); };
  const Chance& chance = scenario.chance;
  return chance.varies() || any(chance.stragglers) || any(chance.slow_links) ||
         (scenario.slow_machines && shortens(*scenario.slow_machines));
}

/// Bounds are of a rule's order on its own placement, in which each cell takes its price or longer.
bool covers(const Scenario& scenario) {
  const bool own_order = scenario.schedule.policy.empty() && scenario.schedule.file.empty();
  return own_order && scenario.partition.ranks.empty() && scenario.recompute.microbatches.empty() &&
         !may_shorten(scenario);
}

}  // namespace

bool fuses(const PlanBase& base, const OrderChoice& order) {
  return order.joins && base.scenario.schedule.overlap == Overlap::fused;
}

BoundBy bound_by(const PlanBase& base, const OrderChoice& order, const std::string& partition) {
  if (!covers(base.scenario)) return BoundBy::nothing;
  if (fuses(base, order)) return BoundBy::equal_parts;
  const bool stated = base.scenario.model.stages_given || !base.scenario.partition.stages.empty();
  if (stated) return BoundBy::priced_cut;
  if (find_named(partitioner_entries(), partition)->follows_order) return BoundBy::equal_parts;
  return partition == "even" ? BoundBy::even_cut : BoundBy::priced_cut;
}

}  // namespace penstock
