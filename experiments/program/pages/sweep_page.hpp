#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/program/pages/result_page.hpp"

namespace penstock {

/// The rows of a results file that a page shows, in the order of the file.
struct ReportedRows {
  std::vector<std::string> lines;
  RowTable table;                     // of these lines
  RowTable best;                      // of the best answers in each figure of the summary
  std::set<std::string> axes;         // pointers that vary in the whole file
  std::vector<std::size_t> quickest;  // answers, most samples per second first
  std::uint64_t rows = 0;             // of the whole file
  std::uint64_t with_result = 0;
  std::uint64_t too_large = 0;  // of those, without enough memory
  std::uint64_t of = 0;         // configurations of the sweep
  std::string sweep;            // hash
  std::string version;
};

/// Reads results of a sweep line by line and keeps at most `most` rows: those with the most samples
/// per second. What the summary states is of all rows. Throws InputError with the file's name in
/// front, also for a file without rows.
ReportedRows read_reported_rows(const std::string& path, std::size_t most);

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
