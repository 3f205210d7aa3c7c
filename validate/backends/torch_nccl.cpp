#include <unistd.h>

#include "validate/backends/registry.hpp"
#include "validate/processes/python.hpp"

namespace penstock {
namespace {

std::optional<Obstacle> obstacle_of_nccl(const PricedPlan& /*priced*/) {
  if (access("/proc/driver/nvidia/version", R_OK) != 0) {
    return Obstacle{true, "no GPU: no NVIDIA driver is loaded"};
  }
  return why_no_torch();
}

/// Far longer than what the host does between two actions, and than a late wake-up.
JobLength length_of_nccl(std::uint32_t ranks) {
  return {.mean_action_ns = 20'000'000, .most_work_ns = std::int64_t{2'000'000'000} * ranks};
}

}  // namespace

constinit extern const BackendEntry torch_nccl_entry{
    .name = "torch_nccl",
    .summary = "the same on GPUs, one a rank; not run on a GPU yet",
    .obstacle = obstacle_of_nccl,
    .runs_layers = true,
    .make = nullptr,
    .length = length_of_nccl,
    .wall_clock = true,
    .torch = {.group = "nccl", .device = "cuda"},
};

}  // namespace penstock
