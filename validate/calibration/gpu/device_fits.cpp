#include "validate/calibration/gpu/device_fits.hpp"

#include <iterator>
#include <utility>

namespace penstock {
namespace {

void add(std::vector<DeviceFit>& all, std::vector<DeviceFit> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

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
