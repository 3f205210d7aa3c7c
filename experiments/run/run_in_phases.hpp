#pragma once

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/run_options.hpp"
#include "experiments/run/run_result.hpp"

namespace penstock {

/// Runs a layout whose stash is encoded in phases: once for each phase and once without a codec.
/// The result is that of the first phase, with the findings of all and `codec_training`. Throws as
/// `run`.
RunResult run_in_phases(const Layout& layout, const RunOptions& options);

}  // namespace penstock
