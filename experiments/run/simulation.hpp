#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "experiments/run/finding.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/extras.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The engine that runs a plan; automatic: relax where it applies.
enum class Engine : std::uint8_t { automatic, relax, events };

/// State shared by all runs of one layout. Throws InputError without a file's name in front, and
/// UsageError if the requested engine does not apply.
class Simulation {
 public:
  /// The activations of the layout are already encoded. The layout must outlive this object.
  Simulation(const Layout& layout, Engine engine);

  const HardwareModel& hardware() const { return *hardware_; }

  /// The order that the layout's policy decides while a draw runs.
  std::variant<Schedule, Finding> decide(std::uint32_t draw) const;
  /// Lowers and prices an order, without chance.
  std::variant<PricedPlan, Finding> price_order(const Schedule& order) const;
  /// A plan with the costs of one draw. Its reductions wait for the slowest data replica of that
  /// draw.
  std::variant<PricedPlan, Finding> draw(PricedPlan priced, std::uint32_t draw) const;
  /// Runs a drawn plan with the requested engine.
  std::variant<Timeline, Finding> run(const PricedPlan& drawn) const;

  /// The makespan of a draw; empty if it does not finish. `priced` is the plan of an order that all
  /// draws share.
  std::optional<Time> makespan_of_draw(const PricedPlan& priced, std::uint32_t draw) const;

 private:
  std::variant<PricedPlan, Finding> price_with(const Schedule& order, const Extras& extras) const;

  const Layout& layout_;
  Engine engine_;
  std::unique_ptr<HardwareModel> hardware_;
};

}  // namespace penstock
