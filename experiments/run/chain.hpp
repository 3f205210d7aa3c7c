#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/simulation.hpp"
#include "hardware_models/links/wiring.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// The way from a document to an outcome, for many of them: what follows from equal inputs is made
/// once. Each step has one structure of inputs, which is its key; what is kept never changes. Costs
/// and timelines are not kept: no two runs have the same. Each thread has its own.
///
///     document ─ Scenario ─ Layout ─ Plan ─ Simulated
///        files, codecs │ machines, layers │ plans
class Chain {
 public:
  /// The catalogue is that of all layouts and must outlive this; nullptr: the first layout that
  /// needs it reads it. Keeps plans of at most this many tasks together.
  explicit Chain(const Catalogue* catalogue = nullptr, std::size_t most_tasks = 250'000)
      : catalogue_(catalogue), plans_(64, most_tasks) {}
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// As `scenario_from`.
  Scenario scenario(nlohmann::json document, const std::string& source);
  /// As `changed`.
  Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                   const std::vector<std::string>& left_out = {});
  /// As `settle`.
  Layout layout(const Scenario& scenario);

  /// Runs the first draw of a layout, which is then as run: with its activations encoded, and with
  /// the order that its policy decided. Returns why it cannot finish. Throws InputError that starts
  /// with the layout's file, also as `check_layout` does. `hardware`: null, or that of the layout.
  std::variant<Simulated, Finding> simulate(
      Layout& layout, std::shared_ptr<const HardwareModel> hardware = nullptr);
  /// The same without a check, of a layout that is as `settle` made it.
  std::variant<Simulated, Finding> simulate_settled(
      Layout& layout, std::shared_ptr<const HardwareModel> hardware = nullptr);

  /// The priced plan of the layout's order; of a policy, which then decided it, that of `decided`.
  std::variant<PricedPlan, Finding> priced(const Simulation& simulation, const Layout& layout,
                                           std::optional<Schedule>& decided);
  /// As `lower`: a known plan, or a new one.
  std::variant<Plan, Finding> plan(PlanInputs inputs);
  bool knows_plan(const PlanInputs& inputs) { return plans_.find(inputs) != nullptr; }
  std::size_t known_plans() const { return plans_.count(); }

 private:
  std::unique_ptr<const Catalogue> own_;
  const Catalogue* catalogue_;
  KnownSections sections_;
  MachinesByName machines_{8};
  LayerGraphs layers_{8};
  std::shared_ptr<Clusters> clusters_ = std::make_shared<Clusters>();
  Memo<PlanInputs, const Plan> plans_;
  std::unordered_set<std::size_t> seen_;  // hashes of inputs of plans
};

/// A finished run whose costs change: its plan and memory serve again. Only for layouts of ideal
/// hardware without chance, overheads and codecs.
class CostStep {
 public:
  CostStep(Layout layout, Simulated run);

  /// What may change in it: times and bytes of layers, and numbers of the links.
  Layout& layout() { return layout_; }
  const Layout& layout() const { return layout_; }

  /// The run with the costs that the layout has now; null if it does not finish. `links` and
  /// `bytes`: whether these may have changed. Throws InputError for costs that cannot be.
  const Simulated* run(bool links, bool bytes);

 private:
  Layout layout_;
  Simulated run_;
  std::shared_ptr<const HardwareModel> hardware_;
  Demand demand_;
};

}  // namespace penstock
