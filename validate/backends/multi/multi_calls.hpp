#pragma once

#include <cstdint>
#include <string>

#include "validate/backends/nccl/nccl_calls.hpp"

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

}  // namespace penstock
