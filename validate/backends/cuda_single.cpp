#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::cuda_single_file {

constinit extern const BackendEntry cuda_single_entry{
    .name = "cuda_single",
    .summary = "one GPU runs all ranks on separate SMs, tasks launched by the host",
    .obstacle = [](const PricedPlan& priced) { return gpu_obstacle(priced, cuda_calls()); },
    .make =
        [](const Job& job) {
          return make_gpu_backend(job, GpuOrdering::host_graphs, *cuda_calls());
        },
    .length = gpu_job_length,
    .wall_clock = true,      // the host may be late; a graph does not involve it
    .most_structure = 0.02,  // a task begins some microseconds after what it waits for
    .one_gpu = true,
};

}  // namespace penstock::cuda_single_file
