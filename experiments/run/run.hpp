#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/run/run_options.hpp"
#include "experiments/run/run_result.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Wires a whole run: settle, encode, lower, price, draw, simulate, summarize. Command line, viewer
/// and tests all come through here. Of several draws the first is the one reported; of formats that
/// change over a training each is run. Throws InputError with the name of the file at fault in
/// front, and UsageError where the engine does not apply.
RunResult run(const Scenario& scenario, const RunOptions& options = {});

/// The same for what a scenario settled to.
RunResult run(Layout layout, const RunOptions& options = {});

}  // namespace penstock
