#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/multi/multi_backend.hpp"
#include "validate/backends/registry.hpp"

namespace penstock {
namespace {

MultiSetting setting() { return {.rule = ChannelRule::per_direction, .launch = launch_of()}; }

std::unique_ptr<Backend> make(const Job& job) {
  return std::make_unique<MultiBackend>(job, real_multi_calls(), setting());
}

bool serve(const Job& job) { return serve_launched_rank(job, real_multi_calls(), setting()); }

}  // namespace

constinit extern const BackendEntry cuda_multi_entry{
    .name = "cuda_multi",
    .summary = "one GPU per rank, tensors by NCCL; not run on GPUs yet",
    .obstacle = multi_obstacle,
    .make = make,
    .length = gpu_job_length,
    .wall_clock = true,
    .real_links = true,
    .serve = serve,
};

}  // namespace penstock
