#pragma once

#include <string>
#include <vector>

#include "experiments/pictures/bubble_plot.hpp"

namespace penstock {

/// The bubble of rows over the first pointer with numbers that take several values; a line for each
/// combination of the other values. Throws InputError if nothing has a bubble, or varies in
/// numbers above 0.
BubblePlot plot_of_rows(const std::vector<std::string>& rows, const std::string& title);

}  // namespace penstock
