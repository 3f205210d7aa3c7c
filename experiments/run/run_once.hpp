#pragma once

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/run_options.hpp"
#include "experiments/run/run_result.hpp"

namespace penstock {

/// Runs a layout with one stash encoding throughout. Throws as `run`.
RunResult run_once(Layout layout, const RunOptions& options);

}  // namespace penstock
