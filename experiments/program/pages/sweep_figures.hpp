#pragma once

#include <string>
#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/program/pages/result_page.hpp"

namespace penstock {

/// The pictures of a sweep's rows, as `plot` draws them: bubble as lines and as a heat map, and the
/// front of memory and step time. Those that do not fit the rows are left out, each with a note.
std::vector<PageFigure> sweep_figures(const RowTable& table, std::vector<std::string>& notes);

}  // namespace penstock
