#pragma once

#include "validate/calibration/gpu/device_fit.hpp"

namespace penstock {

/// All properties: SM scaling, matrix products, transfers, launches, clocks, interference.
std::vector<DeviceFit> fit_device(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

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
std::vector<DeviceFit> fit_launches(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// The SM clock beside busy ranks.
DeviceFit fit_clock(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// Actions beside those of other ranks: t = max(t_alone * (1 + slope * busy ranks), t_alone *
/// demand of all / bandwidth). Fitted to at most two neighbours; more are predicted.
DeviceFit fit_interference(std::span<const DeviceProbe> probes, const BootstrapPlan& plan);

/// The largest error of a prediction beside more neighbours that the model explains.
constexpr double most_unmodelled = 0.05;

}  // namespace penstock
