#include "experiments/run/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/layout/stage_demand.hpp"
#include "experiments/layout/training.hpp"
#include "experiments/profiles/profile_rows.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/chance.hpp"
#include "sim/costs/plan_network.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/order_by_policy.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {
namespace {

/// What the scenario says of its hardware, with the devices of a rank.
HardwareSpec hardware_spec_of(const Scenario& scenario, const Layout& layout) {
  HardwareSpec spec = scenario.hardware_spec;
  spec.ranks = layout.placement.ranks();
  const std::uint64_t group = std::uint64_t{scenario.tensor} * scenario.context * scenario.expert;
  spec.devices_per_rank = group * scenario.data;
  // Without data replicas the next copy of a weight is inside the group, beyond its tensor group.
  spec.devices_per_replica = scenario.data > 1 ? group : scenario.tensor;
  spec.tensor = scenario.tensor;
  spec.context = scenario.context;
  spec.expert = scenario.expert;
  return spec;
}

/// A profile that speaks of no layer would be left unread.
void check_profile(const Scenario& scenario, const Layout& layout) {
  const auto& profile = scenario.hardware_spec.profile;
  if (!profile) return;
  const ProfileLookup lookup(*profile);
  const auto& layers = layout.model.layers;
  const bool speaks = std::any_of(layers.begin(), layers.end(),
                                  [&](const Layer& layer) { return !lookup.find(layer).empty(); });
  if (speaks) return check_rows(rows_used(*profile, layout.model), scenario.allows_stale);
  throw InputError("/hardware/profile",
                   fmt::format("{} speaks of none of the model's layers; the first of these is "
                               "\"{}\", of the kind \"{}\"{}",
                               profile->source, layout.model.layers.front().name,
                               layout.model.layers.front().key.kind, unused_text(*profile)));
}

std::unique_ptr<HardwareModel> hardware_of(const Scenario& scenario, const Layout& layout) {
  check_profile(scenario, layout);
  const CostModelEntry* entry = find_named(cost_model_entries(), cost_model_of(scenario));
  return entry->make(hardware_spec_of(scenario, layout));
}

void check_replicas(const Scenario& scenario) {
  const auto& stragglers = scenario.chance.stragglers;
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const std::uint32_t replica = stragglers[i].replica.value_or(0);
    if (replica < scenario.data) continue;
    throw InputError(fmt::format("/chance/stragglers/{}/replica", i),
                     fmt::format("there is no data replica {}; replicas are 0 to {}", replica,
                                 scenario.data - 1));
  }
}

Finding deadlock_finding(const Deadlock& deadlock) {
  return {"deadlock", deadlock.circle.front().rank, {}, text(deadlock)};
}

}  // namespace

Simulation::Simulation(const Scenario& scenario, const Layout& layout, Engine engine)
    : scenario_(scenario),
      layout_(layout),
      engine_(engine),
      hardware_(hardware_of(scenario, layout)) {
  check_replicas(scenario);
  if (scenario.memory_policy == MemoryPolicy::stall && !scenario.capacity_bytes) {
    throw InputError("/memory/policy", "to stall needs a capacity; give \"capacity_bytes\" too");
  }
}

std::variant<Schedule, Finding> Simulation::decide(std::uint32_t number) const {
  // A policy decides over forwards and backwards; what goes with them has its place by rule.
  Extras extras = extras_of(scenario_, layout_);
  extras.tail = {};
  extras.recomputing.early = false;
  auto all = price_with(layout_.schedule, extras);
  if (auto* finding = std::get_if<Finding>(&all)) return std::move(*finding);
  PricedPlan& work = std::get<PricedPlan>(all);
  const auto policy = make_policy(*layout_.policy, layout_.placement, layout_.policy_options,
                                  stage_prices(work.plan, work.costs));
  work.costs = penstock::draw(work.plan, work.costs, scenario_.chance, number);
  auto decided = order_by_policy(work, layout_.placement, *policy);
  if (auto* halt = std::get_if<Standstill>(&decided)) return finding_of(std::move(*halt));
  return std::get<DecidedOrder>(std::move(decided)).schedule;
}

std::variant<PricedPlan, Finding> Simulation::price_order(const Schedule& order) const {
  return price_with(order, extras_of(scenario_, layout_));
}

std::variant<PricedPlan, Finding> Simulation::price_with(const Schedule& order,
                                                         const Extras& extras) const {
  auto lowered = lower(order, layout_.placement, scenario_.overlap, extras);
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) return deadlock_finding(*deadlock);
  PricedPlan priced{.plan = std::get<Plan>(std::move(lowered)), .costs = {}, .conditions = {}};
  priced.plan.schedule = layout_.name;
  priced.costs = price(priced.plan, layout_.model, layout_.partition, *hardware_,
                       training_of(scenario_, layout_));
  priced.costs.launch = from_us(scenario_.launch_us);
  priced.costs.issue = from_us(scenario_.issue_us);
  priced.conditions = conditions_for(priced.plan);
  const double stretch = priced.conditions.compute_slowdown * priced.conditions.transfer_slowdown;
  if (priced.costs.has_launches() || stretch != 1) {
    check_clock(priced.plan, priced.costs, "/overheads", stretch);
  }
  return priced;
}

Conditions Simulation::conditions_for(const Plan& plan) const {
  Conditions conditions = scenario_.conditions;
  conditions.network = network_of(plan, *hardware_);
  if (scenario_.memory_policy == MemoryPolicy::stall) {
    conditions.stall_above_bytes = scenario_.capacity_bytes;
  }
  return conditions;
}

std::variant<PricedPlan, Finding> Simulation::draw(PricedPlan priced, std::uint32_t number) const {
  auto drawn = draw_among_replicas(std::move(priced), scenario_.chance, number, scenario_.data);
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
