#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/costs/topology.hpp"

namespace penstock {

/// Devices in machines that they do not fill: as many in each machine as in another, up to one
/// unit of devices that stay together.
struct Seating {
  std::uint64_t most = 1;      // devices in each of the first machines
  std::uint64_t larger = 1;    // number of these machines
  std::uint64_t fewer = 0;     // each later machine has this many less
  std::uint64_t machines = 1;  // in all
};

/// The share of peak that work of some size reaches.
struct EfficiencyPoint {
  double size = 1;
  double share = 1;
};
/// Ascending in size; empty: full efficiency.
using EfficiencyTable = std::vector<EfficiencyPoint>;

/// A table, adjusted so that work of size `half_at` reaches half: every kernel takes as long as if
/// it were this much larger.
struct Efficiency {
  EfficiencyTable table;
  double half_at = 0;
};

/// Interpolated over the logarithm of the size; constant beyond the outer points.
double efficiency_at(const Efficiency& efficiency, double size);

/// How fast an attention kernel runs a pass over heads of one size.
struct AttentionSpeed {
  std::string kernel;  // "flash-2"
  bool backward = false;
  double head_size = 128;
  EfficiencyTable by_keys;  // share of peak by the keys that an average query reads
};

/// What a framework makes of a device.
struct StackConstants {
  std::string name;                // empty: none, the device alone
  double matrix_share = 1;         // of the rate of matrix products
  double fp8_share = 1;            // the same for products in fp8
  double fp4_share = 1;            // the same for products in fp4
  double expert_gflop = 0;         // that each expert of a product costs besides its own work
  double expert_issue_us = 0;      // host time for each expert of a product in a low precision
  double attention_share = 1;      // of the rate of its attention kernel
  double fp8_attention_share = 1;  // the same in fp8, where the peak is that of fp8
  std::string attention;           // the kernel, one of the device's; empty: priced as products
  bool computes_masked = false;    // its attention also computes scores that the mask hides
  double vector_passes = 1;        // passes over the data of memory-bound kernels, over the fewest
  double routing_passes = 1;      // passes of kernels that route tokens to experts, over the fewest
  double routing_us = 0;          // a pass through a layer of experts waits for the host
  bool overlaps_gathers = false;  // gathers new weights during the next step's first forwards
  bool hides_rings = false;       // context groups pass keys on while attention runs
  bool deduplicates = false;      // sends a token to each device or machine once, not per expert
  bool stops_recomputing = false;  // of a layer, when all is back that its backward reads
  // Share of gathers and scatters of tensor groups, inside a machine, behind kernels of their pass.
  double tensor_hidden = 0;
  // Shares that computing waits for, prefetched or overlapped as they may be: of ZeRO-3's gathers,
  // of the collectives of replicas.
  double gathers_exposed = 0;
  double sums_exposed = 0;
  double step_us = 0;     // of a step, besides memory traffic of the update
  double scale_loss = 0;  // time that computing takes more with each doubling of the replicas
  // Inputs of products with weights that run in a low precision are kept in that precision.
  bool keeps_narrow = false;
  // Products add to kept gradients and leave a placeholder gradient of each shape of weights.
  bool leaves_placeholders = false;
};

/// What one device can do, and its overheads.
struct Device {
  std::string name;
  std::string like;         // the device whose constants of a stack apply; empty: its own
  std::string usual_stack;  // of scenarios that name none; empty: the newest of PyTorch's
  std::map<std::string, double, std::less<>> peak_flops;  // per second, dense, by precision
  double memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;
  Efficiency matrix_efficiency;  // of peak, by GFLOP of one kernel
  double tile = 1;               // rows and columns that one core computes at once
  // Cores that compute one tile each at a time; 0: products fill the device evenly.
  double multiprocessors = 0;
  double tile_start = 0;           // steps along the inner size that starting a tile costs
  EfficiencyTable fp8_efficiency;  // of peak, by GFLOP; empty: as in other precisions
  std::vector<AttentionSpeed> attention;
  double power_watts = 0;  // that the peaks are stated for; 0: unknown
  double power_share = 1;  // of the rate of matrix units under a power cap
  StackConstants stack;
  Efficiency memory_efficiency;  // of bandwidth, by MB of one kernel
  // Share reached by products with a size that is no multiple of 8 elements.
  double unaligned_efficiency = 1;
  double kernel_us = 0;        // fixed time of a kernel
  double kernel_issue_us = 0;  // host time per kernel launch; 0: it launches whole graphs
  double context_bytes = 0;    // taken by a program before its first allocation
  double reserve = 0;          // share of memory lost to the allocator
};

/// How values are narrowed for products with weights.
struct Recipe {
  std::string_view name;    // a precision of the model
  std::string_view units;   // the matrix units that multiply them
  double number_bytes = 1;  // of a narrowed value, with its part of the scales
  double reads = 1;         // passes over the values before and while they are narrowed
};

/// The recipes, from the plainest on.
std::span<const Recipe> recipes();
/// The recipe of a precision; nullptr when values stay as wide as they are stored.
const Recipe* recipe_of(std::string_view precision);

/// The recipe by which a device narrows products with weights of a model in this precision; nullptr
/// when it has no units for narrow ones.
const Recipe* narrowing_on(const Device& device, std::string_view precision);

/// The precision in which a device multiplies values stored in another: that one if supported,
/// otherwise the next of fp4 > fp8 > bf16 > fp16 > fp32, or tf32 > fp32. Nothing when none is
/// supported.
std::optional<std::string_view> runs_in(const Device& device, std::string_view precision);

/// The share of the rate of matrix units that a power cap in watts leaves: the cube root of the
/// power, since clock and voltage fall together.
double share_under_cap(const Device& device, double watts);

/// The power of a device at work, under its cap if it has one; 0: unknown.
double watts_at_work(const Device& device);

/// A topology with its parameters.
struct TopologySpec {
  std::string kind;
  std::map<std::string, double> parameters;
};

/// Devices and their interconnect. A single device has neither links nor a topology.
struct Machine {
  std::string name;
  Device device;
  std::uint64_t devices = 1;  // that reach each other without a NIC
  std::optional<Speed> link;  // one link of a device to the others, each way
  double links = 1;           // links per device
  std::optional<Speed> host;  // to host memory and to a NIC
  std::optional<Speed> nic;
  double devices_per_nic = 1;
  std::optional<TopologySpec> topology;  // at wire speed
  double link_efficiency = 1;            // share of wire speed that links inside a machine reach
  double nic_efficiency = 1;             // share of wire speed that NICs reach
  double collective_us = 0;              // fixed time of each collective
  double communication_bytes = 0;        // taken by communication libraries on each device
  double warm_up_us = 0;                 // extra time of the first iteration
  // A device's links in an all-reduce that the switches add up; nothing where they do not.
  std::optional<Speed> in_network;
  std::optional<Seating> seating;  // of devices that do not fill their machines
};

/// Fills the parameters of a machine's topology from its links; given ones take precedence, and
/// another topology replaces its own. The size of the machine follows the topology.
void set_topology(Machine& machine, const TopologySpec& given = {});

/// The topology of a machine, if any, at the link speeds that programs reach.
std::optional<TopologySpec> topology_in_use(const Machine& machine);

/// The speed of one device to others of its machine, and to other machines, as programs reach it.
std::optional<Speed> speed_inside(const Machine& machine);
std::optional<Speed> speed_outside(const Machine& machine);

/// Lays `devices` evenly in as few machines as hold them. Groups of `unit` devices stay in one
/// machine if one holds them. A machine that joins no others, a single one, and full ones need no
/// seating.
void seat_evenly(Machine& machine, std::uint64_t devices, std::uint64_t unit);

/// The seat of a device: seats are numbered through all machines, taken or not.
std::uint64_t seat_of(const Machine& machine, std::uint64_t device);

/// The devices of each machine, as "64 + 64", "7 + 7 + 6" or "100 × 6 + 3 × 5".
std::string seating_text(const Seating& seating);

/// The devices of one machine: from `first` to before `end`.
struct SeatedDevices {
  std::uint64_t first = 0;
  std::uint64_t end = 1;
};

/// The devices of the machine that holds a device.
SeatedDevices seated_with(const Machine& machine, std::uint64_t device);

}  // namespace penstock
