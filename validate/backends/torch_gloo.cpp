#include "validate/backends/registry.hpp"
#include "validate/processes/program.hpp"

namespace penstock::torch_gloo_file {
namespace {

std::optional<Obstacle> obstacle_of_gloo(const PricedPlan& /*priced*/) { return why_no_torch(); }

}  // namespace

constinit extern const BackendEntry torch_gloo_entry{
    .name = "torch_gloo",
    .summary = "PyTorch's own pipeline runtime on this computer's cores, a process a rank",
    .obstacle = obstacle_of_gloo,
    .runs_layers = true,
    .make = nullptr,
    .length = torch_job_length,
    .wall_clock = true,
    .torch = {.group = "gloo", .device = "cpu"},
};

}  // namespace penstock::torch_gloo_file
