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

/// All properties: SM scaling, matrix products, transfers, launches, clocks, interference.
std::vector<DeviceFit> fit_device(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

// The parts of `fit_device`. Each takes the probes of a GPU and refuses, with the reason, where
// they do not suffice.

/// Actions of a kernel alone: time over SMs, at a rate per SM until one of the device limits them.
DeviceFit fit_scaling(std::span<const DeviceProbe> probes, std::string_view kernel,
                      const BootstrapPlan& plan);

/// Matrix products: start, multiply-adds in waves of tiles over SMs, and operands.
DeviceFit fit_products(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// Copies and transfers: pieces of latency and bandwidth, a fit for each kind and link engine, which
/// is a number of SMs and of the links that share them.
std::vector<DeviceFit> fit_transfers(std::span<const DeviceProbe> probes,
                                     const BootstrapPlan& plan);

/// Launches of the host, nodes of graphs, and stamps: a start, and a time for each.
std::vector<DeviceFit> fit_launches(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// The SM clock beside busy ranks.
DeviceFit fit_clock(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// Actions beside those of other ranks: t = max(t_alone * (1 + slope * busy ranks), t_alone *
/// demand of all / bandwidth). Fitted to at most two neighbours; more are predicted.
DeviceFit fit_interference(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// The largest error of a prediction beside more neighbours that the model explains.
constexpr double most_unmodelled = 0.05;

}  // namespace penstock
