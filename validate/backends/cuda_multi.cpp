#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/multi/multi_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::cuda_multi_file {

constinit extern const BackendEntry cuda_multi_entry{
    .name = "cuda_multi",
    .summary = "one GPU per rank, tensors by NCCL; run on one GPU alone so far",
    .obstacle = multi_obstacle,
    .make = [](const Job& job) { return make_multi(job, ChannelRule::per_direction); },
    .length = gpu_job_length,
    .wall_clock = true,
    .real_links = true,
    .serve = [](const Job& job) { return serve_multi(job, ChannelRule::per_direction); },
    .many_gpus = true,
};

}  // namespace penstock::cuda_multi_file
