#include "validate/statistics/error_summary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "validate/statistics/median.hpp"

namespace penstock {

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
