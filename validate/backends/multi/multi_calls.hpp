#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "validate/backends/cuda/nccl_calls.hpp"
#include "validate/job/backend.hpp"

namespace penstock {

/// Everything that a rank asks of its machine, replaceable in tests.
struct MultiCalls {
  /// Called in the process of a rank alone: asking the driver anything keeps processes that are
  /// forked later from using GPUs.
  const GpuCalls* (*gpu)();
  const NcclCalls* nccl;
  std::int64_t (*host_ns)();  // the clock that all processes of a host share
  std::string (*host)();      // equal for processes that share it
};

/// Real GPUs, NCCL and the host's clock. There must be no obstacle.
MultiCalls real_multi_calls();

/// The GPUs of this host, or why there are none.
struct GpuCount {
  std::uint32_t gpus = 0;
  std::string why_none;
};

/// Gets the calls and asks them in a process of its own: one that has asked for GPUs cannot start
/// others that use them.
GpuCount count_gpus(const GpuCalls* (*calls)());

/// Why this many ranks cannot share the GPUs of a host, with this version of NCCL (0: none).
std::optional<std::string> why_not_shared(std::uint32_t ranks, std::uint32_t gpus, int nccl);

/// Why several GPUs cannot run a plan: the plan, the launcher, GPUs or NCCL.
std::optional<Obstacle> multi_obstacle(const PricedPlan& priced);

}  // namespace penstock
