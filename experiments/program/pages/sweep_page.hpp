#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/program/pages/reported_rows.hpp"
#include "experiments/program/pages/result_page.hpp"

namespace penstock {

/// What a page of a sweep is made of.
struct SweepReport {
  std::string name;  // of the file of results
  ReportedRows rows;
  std::optional<SweepRequest> sweep;  // for explanations and timelines
  std::size_t details = 0;            // rows with them, at most
  OnProgress on_progress = {};        // of these rows
};

/// The page of a sweep. The report must outlive it. Throws InputError if the rows are of another
/// base.
ResultPage sweep_page(const SweepReport& report);

}  // namespace penstock
