#include "experiments/planner/trial.hpp"

#include <algorithm>
#include <variant>

#include "experiments/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/base/error.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

Trial refused(std::string why) {
  Trial trial;
  trial.refusal = std::move(why);
  return trial;
}

Trial measured(const Simulation& simulation, const Layout& layout, const PricedPlan& priced,
               const Timeline& timeline) {
  Trial trial;
  trial.makespan = makespan(priced.plan, timeline);
  trial.capacity_bytes = layout.memory.capacity_bytes;
  for (const MemoryPeak& peak : memory_peaks(priced.plan, priced.costs, timeline)) {
    trial.peak_bytes = std::max(trial.peak_bytes, peak.bytes);
  }
  const Throughput throughput =
      throughput_of(layout, priced.plan, trial.makespan, simulation.hardware().peak_flops());
  trial.samples_per_s = throughput.samples_per_s;
  trial.tokens_per_s = throughput.tokens_per_s;
  return trial;
}

}  // namespace

Trial try_layout(const Scenario& scenario, const Catalogue& catalogue) {
  try {
    const Layout layout = with_codecs(settle(scenario, {.catalogue = &catalogue}));
    const Simulation simulation(layout, Engine::automatic);
    auto lowered = simulation.price_order(layout.schedule);
    if (const auto* finding = std::get_if<Finding>(&lowered)) return refused(finding->text);
    auto drawn = simulation.draw(std::get<PricedPlan>(std::move(lowered)), 0);
    if (const auto* finding = std::get_if<Finding>(&drawn)) return refused(finding->text);
    const PricedPlan& priced = std::get<PricedPlan>(drawn);
    const auto outcome = simulation.run(priced);
    if (const auto* finding = std::get_if<Finding>(&outcome)) return refused(finding->text);
    return measured(simulation, layout, priced, std::get<Timeline>(outcome));
  } catch (const InputError& error) {
    return refused(error.where().empty() ? error.what() : error.where() + ": " + error.what());
  }
}

}  // namespace penstock
