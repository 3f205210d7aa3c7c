#include <unistd.h>

#include "validate/backends/registry.hpp"
#include "validate/processes/program.hpp"

namespace penstock::torch_nccl_file {
namespace {

std::optional<Obstacle> obstacle_of_nccl(const PricedPlan& /*priced*/) {
  if (access("/proc/driver/nvidia/version", R_OK) != 0) {
    return Obstacle{true, "no GPU: no NVIDIA driver is loaded"};
  }
  return why_no_torch();
}

}  // namespace

constinit extern const BackendEntry torch_nccl_entry{
    .name = "torch_nccl",
    .summary = "the same on GPUs, one a rank; not run on a GPU yet",
    .obstacle = obstacle_of_nccl,
    .runs_layers = true,
    .make = nullptr,
    .length = torch_job_length,
    .wall_clock = true,
    .torch = {.group = "nccl", .device = "cuda"},
};

}  // namespace penstock::torch_nccl_file
