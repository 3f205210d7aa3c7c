#pragma once

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

}  // namespace penstock
