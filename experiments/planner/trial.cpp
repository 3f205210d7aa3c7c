#include "experiments/planner/trial.hpp"

#include <algorithm>
#include <variant>

#include "experiments/layout/layout.hpp"
#include "experiments/layout/training.hpp"
#include "experiments/planner/bounds/laid_links.hpp"
#include "experiments/run/priced_layout.hpp"
#include "experiments/run/stage_formats.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/report/memory.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

Trial refused(std::string why) {
  Trial trial;
  trial.refusal = std::move(why);
  return trial;
}

Trial measured(const Layout& layout, const PricedPlan& priced, const Timeline& timeline,
               const HardwareModel& hardware) {
  Trial trial;
  trial.makespan = makespan(priced.plan, timeline);
  trial.capacity_bytes = layout.memory.capacity_bytes;
  for (const MemoryPeak& peak : memory_peaks(priced.plan, priced.costs, timeline)) {
    trial.peak_bytes = std::max(trial.peak_bytes, peak.bytes);
  }
  const Throughput throughput =
      throughput_of(layout, priced.plan, trial.makespan, hardware.peak_flops());
  trial.samples_per_s = throughput.samples_per_s;
  trial.tokens_per_s = throughput.tokens_per_s;
  return trial;
}

Trial trial_of(const Layout& layout, const HardwareModel& hardware) {
  auto priced = price_layout(layout, layout.schedule, extras_of(layout), hardware);
  if (const auto* finding = std::get_if<Finding>(&priced)) return refused(finding->text);
  const auto drawn = draw_among_replicas(std::get<PricedPlan>(std::move(priced)), layout.chance, 0,
                                         layout.degrees.data);
  if (const auto* halt = std::get_if<Standstill>(&drawn)) return refused(halt->text);
  const PricedPlan& plan = std::get<PricedPlan>(drawn);
  const RunOutcome outcome = simulate(plan);
  if (const auto* halt = std::get_if<Standstill>(&outcome)) return refused(halt->text);
  return measured(layout, plan, std::get<Timeline>(outcome), hardware);
}

}  // namespace

Trial try_layout(const Scenario& scenario, const Catalogue& catalogue, Clusters& clusters) {
  try {
    const Layout layout = with_codecs(settle(scenario, {.catalogue = &catalogue}));
    check_profile(layout);
    const auto hardware = hardware_over(clusters, layout);
    check_conditions(layout);
    return trial_of(layout, *hardware);
  } catch (const InputError& error) {
    return refused(error.where().empty() ? error.what() : error.where() + ": " + error.what());
  }
}

}  // namespace penstock
