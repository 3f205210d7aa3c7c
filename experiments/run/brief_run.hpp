#pragma once

#include <optional>
#include <variant>

#include "experiments/run/finding.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A run without its report: the first draw.
struct BriefRun {
  PricedPlan priced;
  Timeline timeline;
  std::optional<double> peak_flops;  // per device, if known
};

/// Runs a layout whose activations are encoded already; a policy's order replaces its schedule.
/// Returns why it cannot finish. Throws InputError without a file's name in front.
std::variant<BriefRun, Finding> brief_run(Layout& layout);

/// The same for a plan that `simulation` has priced already.
std::variant<BriefRun, Finding> brief_run(const Simulation& simulation, PricedPlan priced);

}  // namespace penstock
