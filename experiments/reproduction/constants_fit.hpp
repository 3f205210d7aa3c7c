#pragma once

#include <string>
#include <vector>

#include "experiments/reproduction/reproduction.hpp"
#include "experiments/reproduction/row_values.hpp"

namespace penstock {

/// The table whose rows the constants of a judgement are fitted to.
const PaperTable& fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement);

/// Fits the constants of a judgement to those of its rows that are in one group, and that are not
/// `without`. Without a fit they are where they start. Throws InputError where there is no such
/// row.
FoundConstants fit_constants(const TableCase& judged, const Judgement& judgement,
                             const std::vector<std::string>& group, const PaperRow* without);

}  // namespace penstock
