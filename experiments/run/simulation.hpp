#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "experiments/layout/layout.hpp"
#include "experiments/run/finding.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/extras.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Which engine runs a plan; automatic: relax where it is right.
enum class Engine : std::uint8_t { automatic, relax, events };

/// Everything that the runs of one layout share. Throws InputError without a file's name in
/// front, and UsageError where the engine asked for is not right.
class Simulation {
 public:
  /// The layout, which must outlive this, has its activations encoded already.
  Simulation(const Layout& layout, Engine engine);

  const HardwareModel& hardware() const { return *hardware_; }

  /// The order that the layout's policy decides while a draw runs.
  std::variant<Schedule, Finding> decide(std::uint32_t draw) const;
  /// Lowers and prices an order; chance is not in it yet.
  std::variant<PricedPlan, Finding> price_order(const Schedule& order) const;
  /// A plan with its costs in a draw; its sums wait for the slowest data replica of that draw.
  std::variant<PricedPlan, Finding> draw(PricedPlan priced, std::uint32_t draw) const;
  /// Runs a plan that was drawn, with the engine asked for.
  std::variant<Timeline, Finding> run(const PricedPlan& drawn) const;

  /// The makespan of a draw, nothing where it does not finish. `priced` is the plan of an order
  /// that all draws share.
  std::optional<Time> makespan_of_draw(const PricedPlan& priced, std::uint32_t draw) const;

 private:
  std::variant<PricedPlan, Finding> price_with(const Schedule& order, const Extras& extras) const;
  Conditions conditions_for(const Plan& plan) const;

  const Layout& layout_;
  Engine engine_;
  std::unique_ptr<HardwareModel> hardware_;
};

}  // namespace penstock
