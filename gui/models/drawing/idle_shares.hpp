#pragma once

#include <array>
#include <vector>

#include "gui/models/drawing/painted_run.hpp"

namespace penstock {

/// The mean idle share of all ranks by cause in each of some columns over a whole run.
std::vector<std::array<float, idle_cause_count>> idle_over_time(const PaintedRun& run, int columns);

}  // namespace penstock
