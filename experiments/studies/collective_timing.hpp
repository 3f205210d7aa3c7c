#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// A collective of so many devices of a machine, and of others like it, `stride` apart.
struct CollectiveQuestion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;  // as in a `CollectiveCall`
  std::uint64_t devices = 2;
  std::uint64_t stride = 1;
};

/// How long one algorithm takes: by its formula, and expanded to flows over a topology.
struct AlgorithmTiming {
  const CollectiveEntry* algorithm;
  double formula_us;
  double flows_us;
};

/// The collective as its group lies in machines, and what each algorithm that serves it takes.
struct CollectiveTimings {
  CollectiveCall call;
  std::vector<AlgorithmTiming> algorithms;
};

/// The most devices whose flows are run.
constexpr std::uint32_t most_timed_devices = 512;

/// Of all algorithms, or `only` of one. Throws UsageError when the machine has no such devices or
/// no topology, when no algorithm of that name serves the kind, and when the clock could not hold
/// the flows.
CollectiveTimings time_collective(const Machine& machine, const CollectiveQuestion& question,
                                  std::string_view only = "");

/// What nccl-tests divide by the time to have the bus bandwidth: what each member has to send, and
/// at the same time receive, at the least; of a ring exchange what all others have.
double bus_bytes(const CollectiveCall& call);

}  // namespace penstock
