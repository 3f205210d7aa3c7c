#pragma once

#include <vector>

#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/measure/reproduction/reproduced_rows.hpp"

namespace penstock {

/// Fills in the totals over the judged rows of a table, and whether its targets are met.
void sum_up(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
            JudgedTable& judged);

}  // namespace penstock
