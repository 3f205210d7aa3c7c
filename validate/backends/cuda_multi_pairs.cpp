#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/multi/multi_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::cuda_multi_pairs_file {

constinit extern const BackendEntry cuda_multi_pairs_entry{
    .name = "cuda_multi_pairs",
    .summary = "the same with one communicator for both directions of a pair; not run on GPUs yet",
    .obstacle = multi_obstacle,
    .make = [](const Job& job) { return make_multi(job, ChannelRule::per_pair); },
    .length = gpu_job_length,
    .wall_clock = true,
    .real_links = true,
    .serve = [](const Job& job) { return serve_multi(job, ChannelRule::per_pair); },
    .many_gpus = true,
};

}  // namespace penstock::cuda_multi_pairs_file
