#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// How far predictions are from what was measured, as shares of what was measured.
struct ErrorSummary {
  std::uint32_t count = 0;
  double mean = 0;    // of the sizes (MAPE)
  double median = 0;  // of the sizes
  double most = 0;    // of the sizes
  double bias = 0;    // the mean with signs: above 0, too much was predicted
};

/// Of what was predicted over what was measured, less 1.
ErrorSummary summarize_errors(const std::vector<double>& errors);

}  // namespace penstock
