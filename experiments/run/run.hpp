#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/run_options.hpp"
#include "experiments/run/run_result.hpp"

namespace penstock {

/// A whole run: settle, encode, lower, price, draw, simulate, summarize. Command line, viewer and
/// tests all call it. With several draws, the first one is reported. If formats change over a
/// training, each is run. Throws InputError that starts with the faulty file, and UsageError if the
/// engine does not apply.
RunResult run(const Scenario& scenario, const RunOptions& options = {});

/// Runs a settled layout.
RunResult run(Layout layout, const RunOptions& options = {});

}  // namespace penstock
