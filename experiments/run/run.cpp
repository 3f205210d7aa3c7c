#include "experiments/run/run.hpp"

#include <utility>

#include "experiments/run/run_in_phases.hpp"
#include "experiments/run/run_once.hpp"

namespace penstock {

RunResult run(Layout layout, const RunOptions& options) {
  if (!layout.codec.phases.empty()) return run_in_phases(layout, options);
  return run_once(std::move(layout), options);
}

RunResult run(const Scenario& scenario, const RunOptions& options) {
  return run(settle(scenario), options);
}

}  // namespace penstock
