#include "experiments/run/brief_run.hpp"

#include <utility>

#include "experiments/run/simulation.hpp"

namespace penstock {

std::variant<BriefRun, Finding> brief_run(Layout& layout) {
  const Simulation simulation(layout, Engine::automatic);
  if (layout.policy != nullptr) {
    auto decided = simulation.decide(0);
    if (auto* finding = std::get_if<Finding>(&decided)) return std::move(*finding);
    layout.schedule = std::get<Schedule>(std::move(decided));
  }
  auto lowered = simulation.price_order(layout.schedule);
  if (auto* finding = std::get_if<Finding>(&lowered)) return std::move(*finding);
  return brief_run(simulation, std::get<PricedPlan>(std::move(lowered)));
}

std::variant<BriefRun, Finding> brief_run(const Simulation& simulation, PricedPlan priced) {
  auto drawn = simulation.draw(std::move(priced), 0);
  if (auto* finding = std::get_if<Finding>(&drawn)) return std::move(*finding);
  BriefRun run{.priced = std::get<PricedPlan>(std::move(drawn)),
               .timeline = {},
               .peak_flops = simulation.hardware().peak_flops()};
  auto outcome = simulation.run(run.priced);
  if (auto* finding = std::get_if<Finding>(&outcome)) return std::move(*finding);
  run.timeline = std::get<Timeline>(std::move(outcome));
  return run;
}

}  // namespace penstock
