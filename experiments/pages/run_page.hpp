#pragma once

#include "experiments/pages/result_page.hpp"
#include "experiments/run/run_result.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// The page of one run: its summary, timeline, explanation and scenario, and a table of its ranks.
/// The run must have finished.
ResultPage run_page(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
