#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::cuda_single_graph_file {

constinit extern const BackendEntry cuda_single_graph_entry{
    .name = "cuda_single_graph",
    .summary = "one GPU runs all ranks on separate SMs, an iteration as one CUDA graph",
    .obstacle = [](const PricedPlan& priced) { return gpu_obstacle(priced, cuda_calls()); },
    .make = [](const Job& job) { return make_gpu_backend(job, GpuOrdering::graph, *cuda_calls()); },
    .length = gpu_job_length,
    .most_structure = 0.02,  // a task begins some microseconds after what it waits for
    .one_gpu = true,
};

}  // namespace penstock::cuda_single_graph_file
