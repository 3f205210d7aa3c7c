#include "validate/backends/registry.hpp"
#include "validate/processes/python.hpp"

namespace penstock {
namespace {

std::optional<Obstacle> obstacle_of_gloo(const PricedPlan& /*priced*/) { return why_no_torch(); }

/// Far longer than what the host does between two actions, and than a late wake-up.
JobLength length_of_gloo(std::uint32_t ranks) {
  return {.mean_action_ns = 20'000'000, .most_work_ns = std::int64_t{2'000'000'000} * ranks};
}

}  // namespace

constinit extern const BackendEntry torch_gloo_entry{
    .name = "torch_gloo",
    .summary = "PyTorch's own pipeline runtime on this computer's cores, a process a rank",
    .obstacle = obstacle_of_gloo,
    .runs_layers = true,
    .make = nullptr,
    .length = length_of_gloo,
    .wall_clock = true,
    .torch = {.group = "gloo", .device = "cpu"},
};

}  // namespace penstock
