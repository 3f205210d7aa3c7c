#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/reproduction/given_constants.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/measure/reproduction/reproduced_rows.hpp"

namespace penstock {

/// Rows to judge instead of those of a table; constants are still fitted to the paper's rows.
struct OtherRows {
  std::string table;
  std::vector<PaperRow> rows;
};

struct ReproduceOptions {
  std::optional<OtherRows> other = {};
  std::optional<GivenConstants> constants = {};  // instead of fits
  OnProgress on_progress = {};
};

/// Fits constants, simulates every row and judges it. Throws InputError.
Reproduction reproduce(const Paper& paper, const ReproduceOptions& options = {});

/// A paper with one table, of which one row is given: it scales the simulated values of all others,
/// and these are judged. Nothing is fitted; the first judgement's constants may be given. `rows`
/// are those to judge, `row` is one of them, from 0. Throws InputError for a table that the paper
/// lacks.
Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants);

}  // namespace penstock
