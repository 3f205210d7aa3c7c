#include "validate/statistics/median_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace penstock {

// Values below the median are binomial with one half: its quantile in the normal approximation.
MedianInterval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double rank = std::floor((count - 1.96 * std::sqrt(count)) / 2);  // from 1
  const auto first = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return {values[first], values[values.size() - 1 - first]};
}

double trimmed_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t off = values.size() / 8;
  std::sort(values.begin(), values.end());
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(off);
  const auto last = values.end() - static_cast<std::ptrdiff_t>(off);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

}  // namespace penstock
