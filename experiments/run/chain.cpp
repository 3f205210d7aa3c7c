#include "experiments/run/chain.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_seen = 10'000;

}  // namespace

Scenario Chain::scenario(nlohmann::json document, const std::string& source) {
  return scenario_from(std::move(document), source, sections_);
}

Scenario Chain::changed(const Scenario& scenario, const std::vector<std::string>& settings,
                        const std::vector<std::string>& left_out) {
  return penstock::changed(scenario, settings, left_out, sections_);
}

Layout Chain::layout(const Scenario& scenario) {
  if (catalogue_ == nullptr && uses_catalogue(scenario.hardware)) {
    own_ = std::make_unique<const Catalogue>(read_catalogue());
    catalogue_ = own_.get();
  }
  return settle(
      scenario,
      {.catalogue = catalogue_, .machines = &machines_, .layers = &layers_, .clusters = clusters_});
}

std::variant<PricedPlan, Finding> Chain::priced(const Simulation& simulation,
                                                const Layout& layout,
                                                std::optional<Schedule>& decided) {
  PlanInputs inputs = plan_inputs(layout);
  if (layout.policy != nullptr) {
    auto order = simulation.order();
    if (auto* finding = std::get_if<Finding>(&order)) return std::move(*finding);
    inputs.order = *(decided = std::get<Schedule>(std::move(order)));
  }
  auto lowered = plan(std::move(inputs));
  if (auto* finding = std::get_if<Finding>(&lowered)) return std::move(*finding);
  return simulation.price(std::get<Plan>(std::move(lowered)));
}

/// A plan is kept when its inputs come a second time: most sweeps never have them again, and to
/// copy a plan takes a tenth of a short run.
std::variant<Plan, Finding> Chain::plan(PlanInputs inputs) {
  if (const auto known = plans_.find(inputs)) return *known;
  auto lowered = lower(inputs);
  if (seen_.size() >= most_seen) seen_.clear();
  const bool again = !seen_.insert(hash_of(inputs)).second;
  if (const auto* plan = std::get_if<Plan>(&lowered); plan != nullptr && again) {
    plans_.keep(std::move(inputs), std::make_shared<const Plan>(*plan), plan->tasks());
  }
  return lowered;
}

std::variant<Simulated, Finding> Chain::simulate(Layout& layout,
                                                 std::shared_ptr<const HardwareModel> hardware) {
  check_layout(layout);
  return simulate_settled(layout, std::move(hardware));
}

std::variant<Simulated, Finding> Chain::simulate_settled(
    Layout& layout, std::shared_ptr<const HardwareModel> hardware) {
  layout = with_codecs(std::move(layout));
  try {
    if (hardware == nullptr) hardware = hardware_of(layout);
    const Simulation simulation(layout, std::move(hardware));
    std::optional<Schedule> decided;
    auto order = priced(simulation, layout, decided);
    if (decided) layout.schedule = *std::move(decided);
    if (auto* finding = std::get_if<Finding>(&order)) return std::move(*finding);
    return simulation.simulate(std::get<PricedPlan>(std::move(order)));
  } catch (const InputError& error) {
    throw in_file(layout.source, error);
  }
}

CostStep::CostStep(Layout layout, Simulated run)
    : layout_(std::move(layout)),
      run_(std::move(run)),
      hardware_(hardware_of(layout_)),
      demand_(demand_of(run_.priced.plan, layout_.model, layout_.partition, training_of(layout_))) {
}

const Simulated* CostStep::run(bool links, bool bytes) {
  auto& [plan, costs, conditions] = run_.priced;
  if (links) hardware_ = hardware_of(layout_);
  if (bytes) demand_ = demand_of(plan, layout_.model, layout_.partition, training_of(layout_));
  costs = price(plan, layout_.model, layout_.partition, *hardware_, demand_);
  RunOutcome outcome = simulate(run_.priced, std::move(run_.timeline));
  if (std::holds_alternative<Standstill>(outcome)) {
    run_.timeline = {};
    return nullptr;
  }
  run_.timeline = std::get<Timeline>(std::move(outcome));
  return &run_;
}

}  // namespace penstock
