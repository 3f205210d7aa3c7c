#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  bool flows = true;  // also as flows
};

/// The time of one algorithm: by its formula, and expanded to flows over a topology.
struct AlgorithmTiming {
  const CollectiveEntry* algorithm;
  double formula_us;
  std::optional<double> flows_us;  // nothing where members do not send, or flows are not wanted
};

/// The collective placed on the machine, with the times of all algorithms that support it.
struct CollectiveTimings {
  CollectiveCall call;
  std::string seats;  // members of each machine, as "7 + 7 + 6"
  std::vector<AlgorithmTiming> algorithms;
};

/// Flows are simulated up to this number of devices, formulas calculated up to this.
constexpr std::uint32_t most_timed_devices = 512;
constexpr std::uint32_t most_calculated_devices = 1U << 16;

/// Times all algorithms that the group supports, or `only` one. The devices lie as evenly as the
/// machines allow. Throws UsageError if the machine lacks the devices or a
/// topology, if no algorithm of that name supports the kind, and if the clock could overflow.
CollectiveTimings time_collective(const Machine& machine, const CollectiveQuestion& question,
                                  std::string_view only = "");

/// The bytes that nccl-tests divide by the time for the bus bandwidth: the minimum that each member
/// sends and, at the same time, receives; for a ring exchange, the bytes of all others.
double bus_bytes(const CollectiveCall& call);

}  // namespace penstock
