#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/calibration/gpu/device_probe.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// A fitted constant.
struct FittedNumber {
  std::string name;
  std::string unit;
  double value = 0;
  Interval interval;  // holds the true value in 95 % of cases
};

/// A measured point beside the fit.
struct FittedPoint {
  std::string kernel;
  std::string shape;
  std::string condition;
  double measured_ns = 0;
  double fitted_ns = 0;
  double rate = 0;           // work per time as measured, in `DeviceFit::rate_unit`
  bool is_held_out = false;  // not used by the fit

  double error() const { return fitted_ns / measured_ns - 1; }
};

/// One property of a GPU, fitted to its probes.
struct DeviceFit {
  std::string name;
  std::string form = {};       // of the time
  std::string refusal = {};    // why it could not be fitted, and what would help; empty: it was
  std::string rate_unit = {};  // empty: points have no rate
  std::vector<FittedNumber> numbers = {};
  std::vector<FittedPoint> points = {};
  std::vector<std::string> notes = {};
};

/// The errors of the points that the fit used, or of the others.
ErrorSummary errors_of(const DeviceFit& fit, bool held_out);

/// The number of this name; nullptr if there is none.
const FittedNumber* number_of(const DeviceFit& fit, std::string_view name);

}  // namespace penstock
