#include "validate/calibration/gpu/device_fit.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock {
namespace {

void add(std::vector<DeviceFit>& all, std::vector<DeviceFit> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

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

std::vector<DeviceFit> fit_device(std::span<const DeviceProbe> probes, const BootstrapPlan& plan) {
  std::vector<DeviceFit> all;
  for (const char* kernel : {"flops", "bytes", "products"})
    all.push_back(fit_scaling(probes, kernel, plan));
  all.push_back(fit_products(probes, plan));
  add(all, fit_transfers(probes, plan));
  add(all, fit_launches(probes, plan));
  all.push_back(fit_clock(probes, plan));
  all.push_back(fit_interference(probes, plan));
  return all;
}

}  // namespace penstock
