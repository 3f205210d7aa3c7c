#include "validate/calibration/gpu/device_fit.hpp"

#include <algorithm>

namespace penstock {

ErrorSummary errors_of(const DeviceFit& fit, bool held_out) {
  std::vector<double> errors;
  for (const FittedPoint& point : fit.points) {
    if (point.is_held_out == held_out) errors.push_back(point.error());
  }
  return summarize_errors(errors);
}

const FittedNumber* number_of(const DeviceFit& fit, std::string_view name) {
  const auto found = std::find_if(fit.numbers.begin(), fit.numbers.end(),
                                  [&](const FittedNumber& one) { return one.name == name; });
  return found == fit.numbers.end() ? nullptr : &*found;
}

}  // namespace penstock
