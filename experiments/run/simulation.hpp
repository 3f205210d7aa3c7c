#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "experiments/layout/layout.hpp"
#include "experiments/run/finding.hpp"
#include "sim/costs/conditions.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Which engine runs a plan; automatic: relax where it is right.
enum class Engine : std::uint8_t { automatic, relax, events };

/// A plan with what it costs before chance has its say, and what it meets with.
struct PricedPlan {
  Plan plan;
  Costs costs;
  Conditions conditions;
};

/// Everything that the runs of one layout share. Throws InputError without a file's name in
/// front, and UsageError where the engine asked for is not right.
class Simulation {
 public:
  /// The layout, which must outlive this, has its activations encoded already.
  Simulation(const Layout& layout, Engine engine);

  const HardwareModel& hardware() const { return *hardware_; }

  /// The order that the layout's policy decides while a draw runs.
  std::variant<Schedule, Finding> decide(std::uint32_t draw) const;
  /// Lowers and prices an order.
  std::variant<PricedPlan, Finding> price_order(const Schedule& order) const;
  /// What a plan costs in a draw; its sums wait for the slowest data replica of that draw.
  std::variant<Costs, Finding> draw_costs(const PricedPlan& priced, std::uint32_t draw) const;
  /// Runs a plan with the costs of a draw. Returns why it cannot finish, where it cannot.
  std::optional<Finding> run(const PricedPlan& priced, const Costs& costs,
                             Timeline& timeline) const;

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
