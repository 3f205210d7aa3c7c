#pragma once

#include <vector>

namespace penstock {

/// The median of some numbers, between the two in the middle where they are even; 0 of none.
double median(std::vector<double> values);

/// The median distance of some numbers from their median.
double median_deviation(const std::vector<double>& values);

}  // namespace penstock
