#pragma once

#include <string>
#include <vector>

#include "experiments/reproduction/paper.hpp"
#include "experiments/reproduction/reproduced_rows.hpp"
#include "experiments/reproduction/row_values.hpp"

namespace penstock {

/// The table whose rows the constants of a judgement are fitted to.
const PaperTable& fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement);

/// The rows of one group that the constants of a judgement are fitted to, but for `without`: those
/// of the table that it names. Where that has none and is the table judged, those among `judged`.
std::vector<PaperRow> rows_to_fit(const TableCase& of, const Judgement& judgement,
                                  const std::vector<std::string>& group,
                                  const std::vector<PaperRow>& judged, const PaperRow* without);

/// Fits the constants of a judgement to the rows of one group. Without a fit they are where they
/// start. Throws InputError where there is no such row.
FoundConstants fit_constants(const TableCase& of, const Judgement& judgement,
                             const std::vector<std::string>& group,
                             const std::vector<PaperRow>& judged, const PaperRow* without);

}  // namespace penstock
