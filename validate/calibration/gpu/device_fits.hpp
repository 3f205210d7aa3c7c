#pragma once

#include "validate/calibration/fit.hpp"
#include "validate/calibration/gpu/device_fit.hpp"

namespace penstock {

// The parts of `fit_device`. Each takes the probes of a GPU and refuses, with the reason, where
// they do not suffice.

/// Actions of a kernel alone: time over SMs, at a rate per SM until one of the device limits them.
DeviceFit fit_scaling(std::span<const DeviceProbe> probes, std::string_view kernel,
                      const BootstrapPlan& plan);

/// Matrix products: start, multiply-adds in waves of tiles over SMs, and operands.
DeviceFit fit_products(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// Copies and transfers: pieces of latency and bandwidth, a fit for each kind and number of SMs.
std::vector<DeviceFit> fit_transfers(std::span<const DeviceProbe> probes,
                                     const BootstrapPlan& plan);

/// Launches of the host, nodes of graphs, and stamps: a start, and a time for each.
std::vector<DeviceFit> fit_launches(std::span<const DeviceProbe> probes,
                                    const BootstrapPlan& plan);

/// The SM clock beside busy ranks.
DeviceFit fit_clock(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// Actions beside those of other ranks: t = max(t_alone * (1 + slope * busy ranks), t_alone * demand
/// of all / bandwidth). Fitted to at most two neighbours; more are predicted.
DeviceFit fit_interference(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// The largest error of a prediction beside more neighbours that the model explains.
constexpr double most_unmodelled = 0.05;

// Shared by these.

/// A term of a model as a number: `factor` times its coefficient.
FittedNumber fitted_term(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor = 1);

/// The same of one over its coefficient: a rate. Zero where the coefficient is.
FittedNumber fitted_rate(const TermModel& model, std::size_t term, std::string name,
                         std::string unit, double factor = 1);

/// A probe beside its fit.
FittedPoint fitted_point(const DeviceProbe& probe, double fitted_ns, double work = 0);

/// A time by constants that are no coefficients of a sum.
using ProbeTime = std::function<double(const DeviceProbe& probe, const Constants& constants)>;

/// Constants and their draws, fitted to logarithms of times; probes with equal `block` are drawn
/// together.
struct ConstantsFit {
  Constants constants;
  std::vector<Constants> draws;
  Interval interval(std::size_t constant) const;
};
ConstantsFit fit_constants(std::span<const DeviceProbe> probes,
                           const std::vector<std::uint32_t>& blocks,
                           const std::vector<FitRange>& ranges, const ProbeTime& time,
                           const BootstrapPlan& plan);

}  // namespace penstock
