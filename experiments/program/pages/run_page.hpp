#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/program/pages/result_page.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// What a page shows of any run, simulated or measured.
struct PagedRun {
  std::string title;
  std::string summary;
  const Plan& plan;
  const Timeline& timeline;
  const Report& report;
  const std::vector<JudgedMemory>& memory;  // by rank; may be empty
};

/// The page of a run with its timeline, to pan and zoom, and a table of its ranks.
ResultPage timeline_page(const PagedRun& run);

/// The page of one run: its summary, timeline, explanation and scenario, and a table of its ranks.
/// The run must have finished.
ResultPage run_page(const Scenario& scenario, const RunResult& result);

/// The configuration of a row as options of `penstock run`.
PageText settings_of_row(std::string_view row);

/// Runs the row's configuration of a sweep's base again, for its scenario, explanation and
/// timeline. Throws InputError if the row is of another base.
PageDetail detail_of_row(std::string_view row, const SweepRequest& sweep);

/// Throws InputError if the row is of another base.
void check_base(std::string_view row, const SweepRequest& sweep);

}  // namespace penstock
