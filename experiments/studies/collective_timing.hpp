#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// A collective among `count` devices of a machine and of identical machines, `stride` apart.
struct CollectiveQuestion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;  // as in a `CollectiveCall`
  std::uint64_t devices = 2;
  std::uint64_t stride = 1;
};

/// The time of one algorithm: by its formula, and expanded to flows over a topology.
struct AlgorithmTiming {
  const CollectiveEntry* algorithm;
  double formula_us;
  double flows_us;
};

/// The collective placed on the machine, with the times of all algorithms that support it.
struct CollectiveTimings {
  CollectiveCall call;
  std::vector<AlgorithmTiming> algorithms;
};

/// Flows are simulated up to this number of devices.
constexpr std::uint32_t most_timed_devices = 512;

/// Times all algorithms, or `only` one. Throws UsageError if the machine lacks the devices or a
/// topology, if no algorithm of that name supports the kind, and if the clock could overflow.
CollectiveTimings time_collective(const Machine& machine, const CollectiveQuestion& question,
                                  std::string_view only = "");

/// The bytes that nccl-tests divide by the time for the bus bandwidth: the minimum that each member
/// sends and, at the same time, receives; for a ring exchange, the bytes of all others.
double bus_bytes(const CollectiveCall& call);

}  // namespace penstock
