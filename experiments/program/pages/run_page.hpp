#pragma once

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/program/pages/result_page.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The page of one run: its summary, timeline, explanation and scenario, and a table of its ranks.
/// The run must have finished.
ResultPage run_page(const Scenario& scenario, const RunResult& result);

}  // namespace penstock
