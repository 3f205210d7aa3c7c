#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::cuda_logical_file {

constinit extern const BackendEntry cuda_logical_entry{
    .name = "cuda_logical",
    .summary = "one GPU runs one action at a time on all its SMs, timed by logical clocks",
    .obstacle = [](const PricedPlan& priced) { return gpu_obstacle(priced, cuda_calls()); },
    .make =
        [](const Job& job) {
          return make_gpu_backend(job, GpuOrdering::one_by_one, *cuda_calls());
        },
    .length = gpu_job_length,
    .one_gpu = true,
};

}  // namespace penstock::cuda_logical_file
