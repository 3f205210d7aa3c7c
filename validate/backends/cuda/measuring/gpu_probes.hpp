#pragma once

#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"

namespace penstock {

/// Distance between consecutive distinct readings of the GPU clock.
struct ClockStep {
  std::uint64_t least_ns = 0;
  std::uint64_t median_ns = 0;
};
ClockStep clock_step(const GpuDevice& device);
/// All of them, ascending.
std::vector<double> clock_steps_ns(const GpuDevice& device);

/// Launch costs, each the minimum of several tries.
struct LaunchCosts {
  double issue_ns = 0;       // host time per launch, in a row of launches
  double round_trip_ns = 0;  // from a launch into an idle stream until the host sees its end
  double graph_node_ns = 0;  // of an empty graph node behind another one
};
LaunchCosts launch_costs(const GpuDevice& device);

/// From the launch of a graph of empty nodes in a chain until the host sees its end, in
/// nanoseconds; the first launch warms up and does not count. Throws GpuError.
std::vector<double> graph_samples_ns(const GpuDevice& device, std::uint32_t nodes,
                                     std::uint32_t turns);
/// The same of a graph of stamps.
std::vector<double> stamp_samples_ns(const GpuDevice& device, std::uint32_t nodes,
                                     std::uint32_t turns);

/// The host's time for a row of launches of an empty kernel, and until the host sees their end. The
/// first row warms up and does not count. Throws GpuError.
std::vector<double> issue_samples_ns(const GpuDevice& device, std::uint32_t launches,
                                     std::uint32_t turns);
std::vector<double> round_trip_samples_ns(const GpuDevice& device, std::uint32_t launches,
                                          std::uint32_t turns);

}  // namespace penstock
