#pragma once

#include <string>
#include <vector>

#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/measure/reproduction/reproduced_rows.hpp"
#include "experiments/measure/reproduction/row_values.hpp"

namespace penstock {

/// The table to whose rows the constants of a judgement are fitted; null if the paper lacks it.
const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement);

/// The rows of one group to which the constants of a judgement are fitted, except `without`: rows
/// of the table that it names, or of `judged` if it names none and is the judged table.
std::vector<PaperRow> rows_to_fit(const TableCase& of, const Judgement& judgement,
                                  const std::vector<std::string>& group,
                                  const std::vector<PaperRow>& judged, const PaperRow* without);

/// Fits the constants of a judgement to the rows of one group. Without a fit they keep their start
/// values. Throws InputError if there is no such row or table.
FoundConstants fit_constants(const TableCase& of, const Judgement& judgement,
                             const std::vector<std::string>& group,
                             const std::vector<PaperRow>& judged, const PaperRow* without);

}  // namespace penstock
