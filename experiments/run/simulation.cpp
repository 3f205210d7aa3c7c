#include "experiments/run/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/run/layout/training.hpp"
#include "experiments/run/priced_layout.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/order_by_policy.hpp"
#include "sim/engines/replicas.hpp"

namespace penstock {
namespace {

std::unique_ptr<HardwareModel> hardware_of(const Layout& layout) {
  check_profile(layout);
  const CostModelEntry* entry = find_named(cost_model_entries(), layout.hardware.cost_model);
  return entry->make(layout.hardware.spec);
}

}  // namespace

Simulation::Simulation(const Layout& layout, Engine engine)
    : layout_(layout), engine_(engine), hardware_(hardware_of(layout)) {
  check_conditions(layout);
}

std::variant<Schedule, Finding> Simulation::decide(std::uint32_t number) const {
  // A policy orders forwards and backwards only; rules place the rest.
  Extras extras = extras_of(layout_);
  extras.tail = {};
  extras.recomputing.early = false;
  auto all = price_with(layout_.schedule, extras);
  if (auto* finding = std::get_if<Finding>(&all)) return std::move(*finding);
  PricedPlan& work = std::get<PricedPlan>(all);
  const auto policy = make_policy(*layout_.policy, layout_.placement, layout_.options,
                                  stage_prices(work.plan, work.costs));
  work.costs = penstock::draw(work.plan, work.costs, layout_.chance, number);
  auto decided = order_by_policy(work, layout_.placement, *policy);
  if (auto* halt = std::get_if<Standstill>(&decided)) return finding_of(std::move(*halt));
  return std::get<DecidedOrder>(std::move(decided)).schedule;
}

std::variant<PricedPlan, Finding> Simulation::price_order(const Schedule& order) const {
  return price_with(order, extras_of(layout_));
}

std::variant<PricedPlan, Finding> Simulation::price_with(const Schedule& order,
                                                         const Extras& extras) const {
  return price_layout(layout_, order, extras, *hardware_);
}

std::variant<PricedPlan, Finding> Simulation::draw(PricedPlan priced, std::uint32_t number) const {
  auto drawn = draw_among_replicas(std::move(priced), layout_.chance, number, layout_.degrees.data);
  if (auto* halt = std::get_if<Standstill>(&drawn)) return finding_of(std::move(*halt));
  return std::get<PricedPlan>(std::move(drawn));
}

std::variant<Timeline, Finding> Simulation::run(const PricedPlan& drawn) const {
  if (engine_ == Engine::relax) {
    if (const auto why_not = why_not_relax(drawn.plan, drawn.conditions)) {
      throw UsageError(
          fmt::format("--engine relax does not apply: {}; auto or events is right", *why_not));
    }
  }
  RunOutcome outcome = engine_ == Engine::events ? run_events(drawn) : simulate(drawn);
  if (auto* halt = std::get_if<Standstill>(&outcome)) return finding_of(std::move(*halt));
  return std::get<Timeline>(std::move(outcome));
}

std::optional<Time> Simulation::makespan_of_draw(const PricedPlan& priced,
                                                 std::uint32_t number) const {
  std::variant<PricedPlan, Finding> own;
  const PricedPlan* plan = &priced;
  if (layout_.policy != nullptr) {
    const auto decided = decide(number);
    if (std::holds_alternative<Finding>(decided)) return std::nullopt;
    own = price_order(std::get<Schedule>(decided));
    plan = std::get_if<PricedPlan>(&own);
    if (plan == nullptr) return std::nullopt;
  }
  const auto drawn = draw(*plan, number);
  if (std::holds_alternative<Finding>(drawn)) return std::nullopt;
  const auto outcome = run(std::get<PricedPlan>(drawn));
  if (std::holds_alternative<Finding>(outcome)) return std::nullopt;
  return makespan(plan->plan, std::get<Timeline>(outcome));
}

}  // namespace penstock
