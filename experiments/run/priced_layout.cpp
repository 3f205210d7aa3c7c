#include "experiments/run/priced_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/lower.hpp"

namespace penstock {
namespace {

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

/// A time that is missing may stand in rows of a profile that are not used: the error says so.
Costs priced_costs(const Plan& plan, const Layout& layout, const HardwareModel& hardware) {
  try {
    return price(plan, layout.model, layout.partition, hardware, training_of(layout));
  } catch (const InputError& error) {
    const auto& profile = layout.hardware.spec.profile;
    const std::string unused = profile ? unused_text(*profile) : "";
    const std::string what = error.what();
    if (unused.empty() || what.find(unused) != std::string::npos) throw;
    throw InputError(error.where(), what + unused);
  }
}

}  // namespace

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

void check_conditions(const Layout& layout) {
  check_replicas(layout);
  if (layout.memory.policy == MemoryPolicy::stall && !layout.memory.capacity_bytes) {
    throw InputError("/memory/policy", "to stall needs a capacity; give \"capacity_bytes\" too");
  }
}

Conditions conditions_for(const Layout& layout, const Plan& plan, const HardwareModel& hardware) {
  Conditions conditions = layout.conditions;
  conditions.network = network_of(plan, hardware);
  if (layout.memory.policy == MemoryPolicy::stall) {
    conditions.stall_above_bytes = layout.memory.capacity_bytes;
  }
  return conditions;
}

PricedPlan price_lowered(Plan plan, const Layout& layout, const HardwareModel& hardware) {
  PricedPlan priced{.plan = std::move(plan), .costs = {}, .conditions = {}};
  priced.plan.schedule = layout.name;
  priced.costs = priced_costs(priced.plan, layout, hardware);
  priced.costs.launch = from_us(layout.overheads.launch_us);
  priced.costs.issue = from_us(layout.overheads.issue_us);
  add_host_time(layout.overheads.host_us, priced);
  priced.conditions = conditions_for(layout, priced.plan, hardware);
  const double stretch = priced.conditions.compute_slowdown * priced.conditions.transfer_slowdown;
  if (priced.costs.has_launches() || stretch != 1) {
    check_clock(priced.plan, priced.costs, "/overheads", stretch);
  }
  return priced;
}

std::variant<PricedPlan, Finding> price_layout(const Layout& layout, const Schedule& order,
                                               const Extras& extras,
                                               const HardwareModel& hardware) {
  auto lowered = lower(order, layout.placement, layout.overlap, extras);
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) return deadlock_finding(*deadlock);
  return price_lowered(std::get<Plan>(std::move(lowered)), layout, hardware);
}

}  // namespace penstock
