#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// Errors of predictions, relative to the measured values.
struct ErrorSummary {
  std::uint32_t count = 0;
  double mean = 0;    // of absolute errors (MAPE)
  double median = 0;  // of absolute errors
  double most = 0;    // of absolute errors
  double bias = 0;    // mean with signs: above 0, predictions are too high
};

/// From errors predicted / measured - 1.
ErrorSummary summarize_errors(const std::vector<double>& errors);

}  // namespace penstock
