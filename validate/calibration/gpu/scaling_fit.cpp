#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/calibration/gpu/fitting.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr std::size_t least_sm_counts = 3;

/// FLOPs or bytes.
double scaled_work(const DeviceProbe& probe) {
  const double side = probe.size("size");
  const double multiply_adds =
      probe.size("multiply_adds") + probe.size("products") * side * side * side;
  return multiply_adds > 0 ? 2 * multiply_adds : probe.size("bytes");
}

double scaled_ns(const DeviceProbe& probe, const Constants& rates) {
  return scaled_work(probe) / std::min(rates[0] * probe.size("sms"), rates[1]);
}

/// A rate per SM, and one of the device; `limited`: the latter is fitted too.
ConstantsFit fit_rates(std::span<const DeviceProbe> probes, bool limited,
                       const BootstrapPlan& plan) {
  std::vector<double> of_sm;
  double most = 0;
  for (const DeviceProbe& probe : probes) {
    const double rate = scaled_work(probe) / probe.time_ns.median;
    of_sm.push_back(rate / probe.size("sms"));
    most = std::max(most, rate);
  }
  const double start = limited ? quantile(of_sm, 0.8) : median(of_sm);  // below the limit
  const double none = most * 1e6;
  const FitRange limit =
      limited ? FitRange{most, most / 10, most * 10} : FitRange{none, none, none};
  const auto choose = [](std::span<const DeviceProbe> measured) {
    FittedProbes all{{measured.begin(), measured.end()},
                     std::vector<std::uint32_t>(measured.size())};
    std::iota(all.blocks.begin(), all.blocks.end(), 0U);
    return all;
  };
  return fit_constants(probes, choose, {{start, start / 100, start * 100}, limit}, scaled_ns, plan);
}

/// Whether several numbers of SMs reach the limit: else it is not known.
bool reaches_limit(std::span<const DeviceProbe> probes, const Constants& rates) {
  return std::count_if(probes.begin(), probes.end(), [&](const DeviceProbe& probe) {
           return rates[0] * probe.size("sms") > 1.02 * rates[1];
         }) >= 2;
}

}  // namespace

DeviceFit fit_scaling(std::span<const DeviceProbe> all, std::string_view kernel,
                      const BootstrapPlan& plan) {
  const bool is_compute = kernel != "bytes";
  DeviceFit result{.name = fmt::format("SM scaling of {}", kernel),
                   .form = "t = work / min(rate of an SM * SMs, limit)",
                   .rate_unit = is_compute ? "GFLOP/s" : "GB/s"};
  std::vector<DeviceProbe> probes = probes_of(all, kernel);
  std::erase_if(probes, [](const DeviceProbe& probe) {
    return scaled_work(probe) <= 0 || probe.size("sms") <= 0;
  });
  if (const std::size_t sms = different_sizes(probes, "sms"); sms < least_sm_counts) {
    result.refusal = fmt::format(
        "needs {} alone on {} numbers of SMs, got {}; penstock_gpu_check --all FOLDER --step "
        "scaling measures them",
        kernel, least_sm_counts, sms);
    return result;
  }
  ConstantsFit rates = fit_rates(probes, true, plan);
  const bool limited = reaches_limit(probes, rates.constants);
  if (!limited) rates = fit_rates(probes, false, plan);
  result.numbers = {{"rate of an SM", result.rate_unit, rates.constants[0], rates.interval(0)}};
  if (limited) {
    result.numbers.push_back({"limit", result.rate_unit, rates.constants[1], rates.interval(1)});
  } else {
    result.notes.emplace_back("no limit of the device was reached");
  }
  for (const DeviceProbe& probe : probes) {
    result.points.push_back(
        fitted_point(probe, scaled_ns(probe, rates.constants), scaled_work(probe)));
  }
  return result;
}

}  // namespace penstock
