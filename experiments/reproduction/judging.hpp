#pragma once

#include <vector>

#include "experiments/reproduction/paper.hpp"
#include "experiments/reproduction/reproduced_rows.hpp"

namespace penstock {

/// Fills in what the judged rows of a table come to together, and whether what must hold does.
void sum_up(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
            JudgedTable& judged);

}  // namespace penstock
