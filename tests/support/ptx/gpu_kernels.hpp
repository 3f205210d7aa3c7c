#pragma once

#include <cstdint>
#include <string>

#include "tests/support/ptx/kernel.hpp"
#include "validate/backends/cuda/gpu_calls.hpp"

// The GPU's kernels as nvcc compiled them, launched as the CUDA calls launch them. Each returns
// when it ends; `at` says when and where it begins, and what its work takes.

namespace penstock::testing::ptx {

/// All kernels of this build, as text; "" when it has no nvcc.
const std::string& compiled_text();
/// Null when this build has no nvcc.
const Kernels* compiled_kernels();

/// The time of an action that computes, and how much of its work is done in it.
struct ActionLimit {
  std::uint64_t ns = 0;
  std::uint64_t most_work = 0;
};
std::uint64_t run_action(const Kernels& all, Launch at, GpuActionKernel kernel,
                         const ActionLimit& limit);
std::uint64_t run_copy(const Kernels& all, Launch at, const GpuCopyKernel& kernel);
std::uint64_t run_begin(const Kernels& all, Launch at, const GpuKernelTask& task);
std::uint64_t run_end(const Kernels& all, Launch at, const GpuKernelTask& task, bool arrives);
std::uint64_t run_content(const Kernels& all, Launch at, const GpuContentKernel& kernel);
std::uint64_t run_codec(const Kernels& all, Launch at, const GpuCodecKernel& kernel);
std::uint64_t run_step(const Kernels& all, Launch at, const GpuStep& step);
std::uint64_t run_clock_reader(const Kernels& all, Launch at, std::uint64_t* readings,
                               std::uint32_t count);
std::uint64_t run_cycle_counter(const Kernels& all, Launch at, std::uint64_t* numbers,
                                std::uint32_t rounds);

}  // namespace penstock::testing::ptx
