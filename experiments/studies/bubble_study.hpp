#pragma once

#include <cstdint>
#include <vector>

#include "experiments/pictures/bubble_plot.hpp"

namespace penstock {

/// The study that Penstock began with: the bubble of several schedules against the number of
/// microbatches, on `ranks` equal ranks with free links and backwards twice as long as forwards.
/// Simulated, with the closed form beside it where one is known. Throws UsageError for too few or
/// too many ranks.
BubblePlot bubble_study(std::uint32_t ranks);

}  // namespace penstock
