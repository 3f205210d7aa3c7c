#include "experiments/run/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/layout/modules.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/times/profile_lookup.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/chance.hpp"
#include "sim/costs/costs.hpp"
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
  const bool speaks =
      std::ranges::any_of(layers, [&](const Layer& layer) { return !lookup.find(layer).empty(); });
  if (speaks) return check_rows(*profile, layout.model, layout.allows_stale);
  throw InputError("/hardware/profile",
                   fmt::format("{} has times of none of the model's layers; the first of these is "
                               "\"{}\", of the kind \"{}\"{}",
                               profile->source, layout.model.layers.front().name,
                               layout.model.layers.front().key.kind, unused_text(*profile)));
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

/// What a plan of a layout runs under.
Conditions conditions_for(const Layout& layout, const Plan& plan, const HardwareModel& hardware) {
  Conditions conditions = layout.conditions;
  conditions.network = network_of(plan, hardware);
  if (layout.memory.policy == MemoryPolicy::stall) {
    conditions.stall_above_bytes = layout.memory.usable_bytes();
  }
  return conditions;
}

/// The hardware of a layout with a module, whose layers run in groups of its own.
class HardwareOfModules final : public HardwareModel {
 public:
  HardwareOfModules(std::string module, std::unique_ptr<HardwareModel> own,
                    std::unique_ptr<HardwareModel> others)
      : module_(std::move(module)), own_(std::move(own)), others_(std::move(others)) {}

  std::optional<double> compute_us(const Layer& layer, Pass pass) const override {
    return of(layer).compute_us(layer, pass);
  }
  bool looks_at_names() const override {
    return own_->looks_at_names() || others_->looks_at_names();
  }
  std::optional<DeviceUse> use(const Layer& layer, Pass pass) const override {
    return of(layer).use(layer, pass);
  }
  TransferTime transfer(double bytes, Rank from, Rank to) const override {
    return others_->transfer(bytes, from, to);
  }
  std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                         const Holders& holders) const override {
    return others_->collective(kind, bytes, holders);
  }
  std::optional<double> peak_flops() const override { return others_->peak_flops(); }
  Network network() const override { return others_->network(); }
  Route route(const Link& link) const override { return others_->route(link); }

 private:
  const HardwareModel& of(const Layer& layer) const {
    return layer.module == module_ ? *own_ : *others_;
  }

  std::string module_;
  std::unique_ptr<HardwareModel> own_, others_;
};

std::variant<Plan, Finding> plan_or_finding(std::variant<Plan, Deadlock> lowered) {
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) {
    return Finding{"deadlock", deadlock->circle.front().rank, {}, text(*deadlock)};
  }
  return std::get<Plan>(std::move(lowered));
}

}  // namespace

std::size_t hash_of(const PlanInputs& inputs) {
  std::size_t hash = hash_of_all(inputs.order.actions(), inputs.placement.stage_count(),
                                 inputs.overlap, inputs.extras.tail.summing);
  for (const Rank rank : Numbers<Rank>(inputs.order.ranks())) {
    // Some of them: keys with one hash are compared.
    const auto& row = inputs.order.on(rank);
    for (std::size_t i = 0; i < row.size(); i += 1 + row.size() / 8) {
      hash = hash_of_all(hash, row[i].pass, index(row[i].stage), index(row[i].microbatch));
    }
  }
  return hash;
}

PlanInputs plan_inputs(const Layout& layout) {
  return {layout.schedule, layout.placement, layout.overlap, extras_of(layout)};
}

std::variant<Plan, Finding> lower(const PlanInputs& inputs) {
  return plan_or_finding(lower(inputs.order, inputs.placement, inputs.overlap, inputs.extras));
}

std::shared_ptr<const HardwareModel> hardware_of(const Layout& layout) {
  check_profile(layout);
  const CostModelEntry* entry = find_named(cost_model_entries(), layout.hardware.cost_model);
  if (!layout.module) return entry->make(layout.hardware.spec);
  return std::make_shared<const HardwareOfModules>(layout.module->name,
                                                   entry->make(hardware_of_module(layout)),
                                                   entry->make(layout.hardware.spec));
}

Simulation::Simulation(const Layout& layout, std::shared_ptr<const HardwareModel> hardware,
                       Engine engine)
    : layout_(layout), engine_(engine), hardware_(std::move(hardware)) {
  check_replicas(layout);
  if (layout.memory.policy == MemoryPolicy::stall && !layout.memory.capacity_bytes) {
    throw InputError("/memory/policy", "to stall needs a capacity; give \"capacity_bytes\" too");
  }
  if (layout.documents) microbatches_.emplace(layout, hardware_);
}

std::variant<Schedule, Finding> Simulation::order(std::uint32_t number) const {
  if (layout_.policy == nullptr) return layout_.schedule;
  // A policy orders forwards and backwards only; rules place the rest.
  PlanInputs inputs = plan_inputs(layout_);
  inputs.extras.tail = {};
  inputs.extras.recomputing.early = false;
  auto all = priced(lower(inputs));
  if (auto* finding = std::get_if<Finding>(&all)) return std::move(*finding);
  PricedPlan& work = std::get<PricedPlan>(all);
  const auto policy = make_policy(*layout_.policy, layout_.placement, layout_.options,
                                  stage_prices(work.plan, work.costs));
  const auto batch = microbatches_of(number);
  if (batch) work.costs = split_microbatches(&*batch, work)(0);
  work.costs = penstock::draw(work.plan, work.costs, layout_.chance, number);
  auto decided = order_by_policy(work, layout_.placement, *policy);
  if (auto* halt = std::get_if<Standstill>(&decided)) return finding_of(std::move(*halt));
  return std::get<DecidedOrder>(std::move(decided)).schedule;
}

std::variant<PricedPlan, Finding> Simulation::priced_order(std::uint32_t number) const {
  if (layout_.policy == nullptr) return price_order(layout_.schedule);
  auto decided = order(number);
  if (auto* finding = std::get_if<Finding>(&decided)) return std::move(*finding);
  return price_order(std::get<Schedule>(decided));
}

std::variant<PricedPlan, Finding> Simulation::price_order(const Schedule& order) const {
  return priced(plan_or_finding(
      penstock::lower(order, layout_.placement, layout_.overlap, extras_of(layout_))));
}

std::variant<PricedPlan, Finding> Simulation::priced(std::variant<Plan, Finding> lowered) const {
  if (auto* finding = std::get_if<Finding>(&lowered)) return std::move(*finding);
  return price(std::get<Plan>(std::move(lowered)));
}

PricedPlan Simulation::price(Plan plan) const {
  PricedPlan priced{.plan = std::move(plan), .costs = {}, .conditions = {}};
  priced.plan.schedule = layout_.name;
  if (layout_.module) priced.plan.modules = modules_of_stages(layout_);
  priced.costs = priced_costs(priced.plan, layout_, *hardware_);
  priced.costs.launch = from_us(layout_.overheads.launch_us);
  priced.costs.issue = from_us(layout_.overheads.issue_us);
  add_host_time(layout_.overheads.host_us, priced);
  priced.conditions = conditions_for(layout_, priced.plan, *hardware_);
  const double stretch = priced.conditions.compute_slowdown * priced.conditions.transfer_slowdown;
  if (priced.costs.has_launches() || stretch != 1) {
    check_clock(priced.plan, priced.costs, "/overheads", stretch);
  }
  return priced;
}

std::optional<StepBatch> Simulation::microbatches_of(std::uint32_t number) const {
  if (!microbatches_) return std::nullopt;
  StepBatch batch = microbatches_->draw(number);
  if (microbatches_->all_plain(batch)) return std::nullopt;
  return batch;
}

/// Gives microbatches classes of their own, and returns what they cost in each replica; nothing
/// where all are equal.
CostsOfReplica Simulation::split_microbatches(const StepBatch* batch, PricedPlan& priced) const {
  if (batch == nullptr) return {};
  auto split = std::make_shared<const MicrobatchPlan>(by_microbatch(priced.plan));
  auto plain = std::make_shared<const Costs>(std::move(priced.costs));
  priced.plan = split->plan;
  return [this, batch, split, plain](std::uint32_t replica) {
    Costs costs = microbatches_->of(*split, *plain, batch->replicas[replica]);
    check_clock(split->plan, costs, "/batch");
    return costs;
  };
}

Simulation::Replicas Simulation::draw_replicas(PricedPlan priced, std::uint32_t number) const {
  const auto batch = microbatches_of(number);
  return draw_replicas(std::move(priced), number, batch ? &*batch : nullptr);
}

Simulation::Replicas Simulation::draw_replicas(PricedPlan priced, std::uint32_t number,
                                               const StepBatch* batch) const {
  Replicas replicas{std::move(priced), {}};
  auto& [plan, costs, conditions] = replicas.priced;
  const CostsOfReplica costs_of = split_microbatches(batch, replicas.priced);
  Chance chance = layout_.chance;
  const std::uint32_t count = std::min(layout_.degrees.data, most_drawn_replicas);
  for (chance.replica = 0; chance.replica < count; ++chance.replica) {
    if (costs_of) costs = costs_of(chance.replica);
    replicas.costs.push_back(penstock::draw(plan, costs, chance, number));
  }
  return replicas;
}

std::variant<DrawnReplica, Finding> Simulation::draw(PricedPlan priced,
                                                     std::uint32_t number) const {
  const auto batch = microbatches_of(number);
  const CostsOfReplica costs_of = split_microbatches(batch ? &*batch : nullptr, priced);
  auto drawn = draw_among_replicas(
      std::move(priced), layout_.chance, number, layout_.degrees.data,
      together_of(layout_.model, layout_.partition, training_of(layout_)), costs_of);
  if (auto* halt = std::get_if<Standstill>(&drawn)) return finding_of(std::move(*halt));
  return std::get<DrawnReplica>(std::move(drawn));
}

std::variant<Timeline, Finding> Simulation::run(const PricedPlan& drawn) const {
  if (engine_ == Engine::relax) {
    if (const auto why_not = why_not_relax(drawn.plan, drawn.conditions)) {
      throw UsageError(
          fmt::format("--engine relax does not apply: {}; auto or events is right", *why_not));
    }
  }
  RunOutcome outcome = engine_ == Engine::events ? run_events(drawn) : penstock::simulate(drawn);
  if (auto* halt = std::get_if<Standstill>(&outcome)) return finding_of(std::move(*halt));
  return std::get<Timeline>(std::move(outcome));
}

std::variant<Simulated, Finding> Simulation::simulate() const {
  auto priced = priced_order();
  if (auto* finding = std::get_if<Finding>(&priced)) return std::move(*finding);
  return simulate(std::get<PricedPlan>(std::move(priced)));
}

std::variant<Simulated, Finding> Simulation::simulate(PricedPlan priced) const {
  auto drawn = draw(std::move(priced), 0);
  if (auto* finding = std::get_if<Finding>(&drawn)) return std::move(*finding);
  auto& [own, replica] = std::get<DrawnReplica>(drawn);
  Simulated all{.priced = std::move(own),
                .peak_flops = hardware_->peak_flops(),
                .batch = microbatches_of(0),
                .replica = replica};
  auto outcome = run(all.priced);
  if (auto* finding = std::get_if<Finding>(&outcome)) return std::move(*finding);
  all.timeline = std::get<Timeline>(std::move(outcome));
  return all;
}

std::optional<Time> Simulation::makespan_of_draw(const PricedPlan& priced,
                                                 std::uint32_t number) const {
  std::variant<PricedPlan, Finding> own;
  const PricedPlan* plan = &priced;
  if (layout_.policy != nullptr) {
    own = priced_order(number);
    plan = std::get_if<PricedPlan>(&own);
    if (plan == nullptr) return std::nullopt;
  }
  const auto drawn = draw(*plan, number);
  if (std::holds_alternative<Finding>(drawn)) return std::nullopt;
  const auto outcome = run(std::get<DrawnReplica>(drawn).priced);
  if (std::holds_alternative<Finding>(outcome)) return std::nullopt;
  return makespan(plan->plan, std::get<Timeline>(outcome));
}

}  // namespace penstock
