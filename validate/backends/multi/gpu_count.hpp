#pragma once

#include <cstdint>
#include <string>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// The GPUs of this host, or why there are none.
struct GpuCount {
  std::uint32_t gpus = 0;
  std::string why_none;
};

/// Gets the calls and asks them in a process of its own: one that has asked for GPUs cannot start
/// others that use them.
GpuCount count_gpus(const GpuCalls* (*calls)());

}  // namespace penstock
