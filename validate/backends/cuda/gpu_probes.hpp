#pragma once

#include "validate/backends/cuda/gpu_device.hpp"

namespace penstock {

/// How far apart neighbouring readings of the GPU's clock are that differ.
struct ClockStep {
  std::uint64_t least_ns = 0;
  std::uint64_t median_ns = 0;
};
ClockStep clock_step(const GpuDevice& device);

/// What it costs to have things run, each the least of several tries.
struct LaunchCosts {
  double issue_ns = 0;       // on the host, of one of many launches after each other
  double round_trip_ns = 0;  // from a launch into an idle stream until the host knows of its end
  double graph_node_ns = 0;  // of a node of a graph that does nothing, behind another one
};
LaunchCosts launch_costs(const GpuDevice& device);

}  // namespace penstock
