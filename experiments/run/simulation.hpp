#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/run/batch/microbatch_costs.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/plan/extras.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A problem that the user must know about. The program exits with 1.
struct Finding {
  std::string kind;  // "deadlock", "out_of_memory", "expectation"
  std::optional<Rank> rank;
  std::optional<Time> time;
  std::string text;
};

/// The finding for a standstill.
inline Finding finding_of(Standstill halt) {
  return {std::move(halt.kind), halt.rank, halt.time, std::move(halt.text)};
}

/// The engine that runs a plan; automatic: relax where it applies.
enum class Engine : std::uint8_t { automatic, relax, events };

/// All that lowering an order depends on.
struct PlanInputs {
  Schedule order;
  Placement placement;
  Overlap overlap = Overlap::serial;
  Extras extras;

  friend bool operator==(const PlanInputs&, const PlanInputs&) = default;
};
std::size_t hash_of(const PlanInputs& inputs);

/// Those of the order of a layout.
PlanInputs plan_inputs(const Layout& layout);
/// The plan, without a name, or the deadlock.
std::variant<Plan, Finding> lower(const PlanInputs& inputs);

/// A run without its report: the first draw.
struct Simulated {
  PricedPlan priced;
  Timeline timeline;
  std::optional<double> peak_flops;  // per device, if known
  std::optional<StepBatch> batch;    // the microbatches, where they differ
  std::uint32_t replica = 0;         // that all of this is of
};

/// The hardware of a layout, as its cost model makes it. Throws InputError for a profile that
/// matches none of its layers, and for what the cost model refuses.
std::shared_ptr<const HardwareModel> hardware_of(const Layout& layout);

/// The runs of one layout. Throws InputError without a file's name in front, and UsageError if the
/// requested engine does not apply.
class Simulation {
 public:
  /// The layout has no fault (`check_layout`), and its activations are encoded already. It must
  /// outlive this object.
  /// Refuses stragglers among replicas that do not exist, and stalling without a capacity.
  explicit Simulation(const Layout& layout, Engine engine = Engine::automatic)
      : Simulation(layout, hardware_of(layout), engine) {}
  Simulation(const Layout& layout, std::shared_ptr<const HardwareModel> hardware,
             Engine engine = Engine::automatic);

  const HardwareModel& hardware() const { return *hardware_; }
  std::shared_ptr<const HardwareModel> shared_hardware() const { return hardware_; }

  /// The order of the layout, or that which its policy decides while a draw runs.
  std::variant<Schedule, Finding> order(std::uint32_t draw = 0) const;
  /// Lowers and prices that order, without chance.
  std::variant<PricedPlan, Finding> priced_order(std::uint32_t draw = 0) const;
  /// The same for another order, which has no fault.
  std::variant<PricedPlan, Finding> price_order(const Schedule& order) const;
  /// Prices a plan that was lowered from an order of this layout, without chance.
  PricedPlan price(Plan plan) const;
  /// A plan with the costs of each data replica in a draw, of at most `most_drawn_replicas`: those
  /// of its microbatches, where they differ, and of chance.
  struct Replicas {
    PricedPlan priced;  // the costs are those of the plan without either
    std::vector<Costs> costs;
  };
  Replicas draw_replicas(PricedPlan priced, std::uint32_t draw) const;
  /// The same for these microbatches; null: all are equal.
  Replicas draw_replicas(PricedPlan priced, std::uint32_t draw, const StepBatch* batch) const;

  /// Runs the first draw.
  std::variant<Simulated, Finding> simulate() const;
  /// The same for a priced plan.
  std::variant<Simulated, Finding> simulate(PricedPlan priced) const;
  /// The makespan of a draw; empty if it does not finish. `priced` is the plan of an order that all
  /// draws share.
  std::optional<Time> makespan_of_draw(const PricedPlan& priced, std::uint32_t draw) const;

  /// The microbatches of a draw, where they differ.
  std::optional<StepBatch> microbatches_of(std::uint32_t draw) const;

  /// Runs a drawn plan with the requested engine.
  std::variant<Timeline, Finding> run(const PricedPlan& drawn) const;

 private:
  std::variant<PricedPlan, Finding> priced(std::variant<Plan, Finding> lowered) const;
  std::variant<DrawnReplica, Finding> draw(PricedPlan priced, std::uint32_t draw) const;
  CostsOfReplica split_microbatches(const StepBatch* batch, PricedPlan& priced) const;

  const Layout& layout_;
  Engine engine_;
  std::shared_ptr<const HardwareModel> hardware_;
  std::optional<MicrobatchCosts> microbatches_;  // where they may differ
};

}  // namespace penstock
