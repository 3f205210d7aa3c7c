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

/// Refuses a profile that matches no layer.
void check_profile(const Layout& layout) {
  const auto& profile = layout.hardware.spec.profile;
  if (!profile) return;
  const ProfileLookup lookup(*profile);
  const auto& layers = layout.model.layers;
  const bool speaks = std::any_of(layers.begin(), layers.end(),
                                  [&](const Layer& layer) { return !lookup.find(layer).empty(); });
  if (speaks) return check_rows(*profile, layout.model, layout.allows_stale);
  throw InputError("/hardware/profile",
                   fmt::format("{} has times of none of the model's layers; the first of these is "
                               "\"{}\", of the kind \"{}\"{}",
                               profile->source, layout.model.layers.front().name,
                               layout.model.layers.front().key.kind, unused_text(*profile)));
}

std::unique_ptr<HardwareModel> hardware_of(const Layout& layout) {
  check_profile(layout);
  const CostModelEntry* entry = find_named(cost_model_entries(), layout.hardware.cost_model);
  return entry->make(layout.hardware.spec);
}

void check_replicas(const Layout& layout) {
  const auto& stragglers = layout.chance.stragglers;
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const std::uint32_t replica = stragglers[i].replica.value_or(0);
    if (replica < layout.degrees.data) continue;
    throw InputError(fmt::format("/chance/stragglers/{}/replica", i),
                     fmt::format("there is no data replica {}; replicas are 0 to {}", replica,
                                 layout.degrees.data - 1));
  }
}

Finding deadlock_finding(const Deadlock& deadlock) {
  return {"deadlock", deadlock.circle.front().rank, {}, text(deadlock)};
}

/// Behind each action of a rank, time of the host that runs it.
void add_host_time(double host_us, PricedPlan& priced) {
  if (host_us == 0) return;
  for (std::size_t i = 0; i < priced.plan.classes.size(); ++i) {
    const WorkClass& work = priced.plan.classes[i];
    if (priced.plan.is_link(work.resource) || work.follows_partner) continue;
    priced.costs.duration[i] += from_us(host_us);
  }
  check_clock(priced.plan, priced.costs, "/overheads/host_us");
}

}  // namespace

Simulation::Simulation(const Layout& layout, Engine engine)
    : layout_(layout), engine_(engine), hardware_(hardware_of(layout)) {
  check_replicas(layout);
  if (layout.memory.policy == MemoryPolicy::stall && !layout.memory.capacity_bytes) {
    throw InputError("/memory/policy", "to stall needs a capacity; give \"capacity_bytes\" too");
  }
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
  auto lowered = lower(order, layout_.placement, layout_.overlap, extras);
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) return deadlock_finding(*deadlock);
  PricedPlan priced{.plan = std::get<Plan>(std::move(lowered)), .costs = {}, .conditions = {}};
  priced.plan.schedule = layout_.name;
  priced.costs =
      price(priced.plan, layout_.model, layout_.partition, *hardware_, training_of(layout_));
  priced.costs.launch = from_us(layout_.overheads.launch_us);
  priced.costs.issue = from_us(layout_.overheads.issue_us);
  add_host_time(layout_.overheads.host_us, priced);
  priced.conditions = conditions_for(priced.plan);
  const double stretch = priced.conditions.compute_slowdown * priced.conditions.transfer_slowdown;
  if (priced.costs.has_launches() || stretch != 1) {
    check_clock(priced.plan, priced.costs, "/overheads", stretch);
  }
  return priced;
}

Conditions Simulation::conditions_for(const Plan& plan) const {
  Conditions conditions = layout_.conditions;
  conditions.network = network_of(plan, *hardware_);
  if (layout_.memory.policy == MemoryPolicy::stall) {
    conditions.stall_above_bytes = layout_.memory.capacity_bytes;
  }
  return conditions;
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
