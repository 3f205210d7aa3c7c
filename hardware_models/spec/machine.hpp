#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// The share of a peak that work of some size reaches.
struct EfficiencyPoint {
  double size = 1;
  double share = 1;
};
/// Ascending in size; without points everything is reached.
using EfficiencyTable = std::vector<EfficiencyPoint>;

/// What a table says, of which work of the size `half_at` reaches half: every kernel takes as long
/// as if it were that much larger.
struct Efficiency {
  EfficiencyTable table;
  double half_at = 0;
};

/// Straight lines over the logarithm of the size between points, level beyond the outer ones.
double efficiency_at(const Efficiency& efficiency, double size);

/// What one device can do, and what it needs for itself.
struct Device {
  std::string name;
  std::map<std::string, double, std::less<>> peak_flops;  // a second, dense, by precision
  double memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;
  Efficiency matrix_efficiency;  // of the peak, by GFLOP of one kernel
  double tile = 1;               // rows, and columns, that one core of it makes at once
  Efficiency memory_efficiency;  // of the bandwidth, by MB of one kernel
  // Share of it that products reach any of whose sizes is no multiple of 8 numbers.
  double unaligned_efficiency = 1;
  double kernel_us = 0;        // of a kernel beside its work
  double kernel_issue_us = 0;  // of the host, for each kernel; 0: whole graphs are launched
  double context_bytes = 0;    // that a program takes before it allocates anything
  double reserve = 0;          // share of its memory that an allocator cannot use
};

/// The precision in which a device multiplies what is stored in another: that one if it has it,
/// else the next of fp8 > bf16 > fp16 > fp32, or tf32 > fp32. Nothing where it has none of these.
std::optional<std::string_view> runs_in(const Device& device, std::string_view precision);

/// A kind of topology with its parameters.
struct TopologySpec {
  std::string kind;
  std::map<std::string, double> parameters;
};

/// Devices and what joins them. A device alone has neither links nor a topology.
struct Machine {
  std::string name;
  Device device;
  std::uint64_t devices = 1;  // that need no NIC to reach each other
  std::optional<Speed> link;  // one of those that join a device to the others, each way
  double links = 1;           // of these a device has
  std::optional<Speed> host;  // to the memory of the host, and to a NIC
  std::optional<Speed> nic;
  double devices_per_nic = 1;
  std::optional<TopologySpec> topology;  // at the speed of the wires
  double link_efficiency = 1;            // share of that which links inside reach
  double nic_efficiency = 1;             // share of that which NICs reach
  double collective_us = 0;              // of each collective beside its rounds
  double communication_bytes = 0;        // that libraries take on each device for buffers
  double warm_up_us = 0;                 // what the first iteration takes longer
};

/// Fills the parameters of a machine's topology from its links, and replaces those that are given.
/// Another kind takes the place of its own one. The machine is as large then as the topology says.
void set_topology(Machine& machine, const TopologySpec& given = {});

/// The topology of a machine, if it has one, with links as fast as programs reach them.
std::optional<TopologySpec> topology_in_use(const Machine& machine);

/// What one device of a machine has to reach the others of it, and those of other machines, as fast
/// as programs reach it.
std::optional<Speed> speed_inside(const Machine& machine);
std::optional<Speed> speed_outside(const Machine& machine);

}  // namespace penstock
