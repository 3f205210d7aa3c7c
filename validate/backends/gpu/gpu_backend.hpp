#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "validate/backends/cuda/running/gpu_executor.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"
#include "validate/job/backend.hpp"

namespace penstock {

// Shared by the backends on one GPU. The calls are a parameter, so tests can replace the GPU.

/// Why one GPU cannot run a plan; `calls` is null in a build without CUDA.
std::optional<Obstacle> gpu_obstacle(const PricedPlan& priced, const GpuCalls* calls);

/// One GPU that runs all ranks of a job. `sizes` are of layers, where actions run these. There must
/// be no obstacle. Throws UsageError when tensors or links are too much for it, and GpuError.
std::unique_ptr<Backend> make_gpu_backend(const Job& job, GpuOrdering ordering,
                                          const GpuCalls& calls, const GpuLayerSizes& sizes = {});

/// Long enough that the few microseconds between two kernels matter little.
constexpr JobLength gpu_job_length(std::uint32_t) {
  return {.mean_action_ns = 2'000'000, .most_work_ns = 4'000'000'000};
}

/// What a run on one GPU shows, and what it does not. Every report of one has this.
constexpr std::string_view one_gpu_scope =
    "A run on one GPU validates schedule order, dependency handling, bubble accounting, launch "
    "overhead, graph behaviour, memory peaks and the interference model. It does not validate "
    "NVLink or InfiniBand rates, NCCL protocol switches, the overlap of data-parallel all-reduces, "
    "or clocks that differ between devices.";

/// The same where tasks run one at a time.
constexpr std::string_view one_at_a_time_scope =
    "A run of one action at a time validates what the actions of stages take on the whole GPU, and "
    "that their buffers fit. It does not validate order, waiting, launch overhead or interference, "
    "and the times of links are those of the scenario.";

}  // namespace penstock
