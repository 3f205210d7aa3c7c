#include "validate/statistics/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace penstock {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double median_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  return median(std::move(deviations));
}

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

ErrorSummary summarize_errors(const std::vector<double>& errors) {
  ErrorSummary summary;
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.mean += sizes.back();
    summary.bias += error;
    summary.most = std::max(summary.most, sizes.back());
  }
  summary.count = static_cast<std::uint32_t>(errors.size());
  summary.mean /= summary.count;
  summary.bias /= summary.count;
  summary.median = median(std::move(sizes));
  return summary;
}

}  // namespace penstock
