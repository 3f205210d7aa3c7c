#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// The median; the mean of the two middle values for an even count, 0 for none.
double median(std::vector<double> values);

/// The median; of two in the middle the lower, which half of the values do not exceed.
double lower_median(std::vector<double> values);

/// Repeats of one measurement.
struct SampleSpread {
  double median = 0;
  double deviation = 0;  // median absolute deviation over the median
};
SampleSpread spread_of(const std::vector<double>& samples);

/// A range, both ends included.
struct Interval {
  double low = 0;
  double high = 0;
  bool covers(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Between two of the values; a 95 % interval of the median, whatever their distribution. Of fewer
/// than six values, all of them.
Interval median_interval(std::vector<double> values);

/// The mean without an eighth of the values at each end, which interruptions would dominate.
double trimmed_mean(std::vector<double> values);

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

/// An item at two moments.
struct TwoMoments {
  Time a;
  Time b;
};

/// Kendall's tau-b: 1 when all pairs have the same order in both, -1 when all have the opposite
/// order; ties count for neither. Nothing when all items of one side are tied.
std::optional<double> rank_correlation(std::vector<TwoMoments> moments);

}  // namespace penstock
