#pragma once

#include <memory>
#include <optional>

#include "validate/backends/cuda/gpu_executor.hpp"
#include "validate/job/backend.hpp"

namespace penstock {

// What the backends on one GPU share; which calls are made is theirs to say, so that a test can
// stand in for the GPU.

/// What is in the way of a plan on one GPU; `calls` is null in a build without CUDA.
std::optional<Obstacle> gpu_obstacle(const Plan& plan, const GpuCalls* calls);

/// A job as a GPU that plays several ranks runs it.
GpuProgram gpu_program(const Job& job);

/// One GPU that plays all ranks of a job. There must be no obstacle. Throws UsageError for tensors
/// and links that are too much for that, and GpuError.
std::unique_ptr<Backend> make_gpu_backend(const Job& job, GpuOrdering ordering,
                                          const GpuCalls& calls);

/// How long jobs are to be: what lies between two kernels, a few microseconds, must be little of
/// it.
constexpr JobLength gpu_job_length(std::uint32_t) {
  return {.mean_action_ns = 2'000'000, .most_work_ns = 4'000'000'000};
}

}  // namespace penstock
