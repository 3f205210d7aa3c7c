#pragma once

#include <vector>

namespace penstock {

/// The median; the mean of the two middle values for an even count, 0 for none.
double median(std::vector<double> values);

/// The median absolute deviation from the median.
double median_deviation(const std::vector<double>& values);

}  // namespace penstock
