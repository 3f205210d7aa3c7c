#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

// Own kernels. Each call returns 0 or a CUDA error number.

/// Loads all kernels now: loading during a stream capture is an error.
int load_kernels();

int launch_action(GpuStream stream, const GpuActionKernel& kernel);
int launch_copy(GpuStream stream, const GpuCopyKernel& kernel);
int launch_nothing(GpuStream stream);

/// Records this many distinct clock readings in nanoseconds.
int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count);

}  // namespace penstock
