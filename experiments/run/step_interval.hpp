#pragma once

namespace penstock {

/// The share of runs whose step time is in its interval.
constexpr double interval_level = 0.9;

/// The interval of a step time, as factors of it.
struct StepInterval {
  double least = 1;
  double most = 1;
};

/// Of step times whose relative standard deviation is `spread`: they spread by a factor, so the
/// interval is one of logarithms.
StepInterval step_interval(double spread);

}  // namespace penstock
