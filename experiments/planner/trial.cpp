#include "experiments/planner/trial.hpp"

#include <algorithm>
#include <variant>

#include "experiments/layout/layout.hpp"
#include "experiments/run/brief_run.hpp"
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

Trial measured(const Layout& layout, const BriefRun& run) {
  Trial trial;
  const Plan& plan = run.priced.plan;
  trial.makespan = makespan(plan, run.timeline);
  trial.capacity_bytes = layout.memory.capacity_bytes;
  for (const MemoryPeak& peak : memory_peaks(plan, run.priced.costs, run.timeline)) {
    trial.peak_bytes = std::max(trial.peak_bytes, peak.bytes);
  }
  const Throughput throughput = throughput_of(layout, plan, trial.makespan, run.peak_flops);
  trial.samples_per_s = throughput.samples_per_s;
  trial.tokens_per_s = throughput.tokens_per_s;
  return trial;
}

}  // namespace

Trial try_layout(const Scenario& scenario, const Catalogue& catalogue) {
  try {
    Layout layout = with_codecs(settle(scenario, {.catalogue = &catalogue}));
    const auto outcome = brief_run(layout);
    if (const auto* finding = std::get_if<Finding>(&outcome)) return refused(finding->text);
    return measured(layout, std::get<BriefRun>(outcome));
  } catch (const InputError& error) {
    return refused(error.where().empty() ? error.what() : error.where() + ": " + error.what());
  }
}

}  // namespace penstock
