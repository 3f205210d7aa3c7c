#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

// Kernels of our own. Each call returns 0, or an error number of CUDA.

/// Loads all of them: a load while a stream is captured is an error.
int load_kernels();

int launch_action(GpuStream stream, const GpuActionKernel& kernel);
int launch_copy(GpuStream stream, const GpuCopyKernel& kernel);
int launch_nothing(GpuStream stream);

/// Takes down so many readings of the clock in nanoseconds, each unlike the one before.
int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count);

}  // namespace penstock
