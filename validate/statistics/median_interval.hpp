#pragma once

#include <vector>

namespace penstock {

/// Between two of the values; a 95 % interval of the median, whatever their distribution. Of fewer
/// than six values, all of them.
struct MedianInterval {
  double low = 0;
  double high = 0;
};
MedianInterval median_interval(std::vector<double> values);

/// The mean without an eighth of the values at each end, which interruptions would dominate.
double trimmed_mean(std::vector<double> values);

}  // namespace penstock
