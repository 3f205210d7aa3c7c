#include "validate/backends/registry.hpp"
#include "validate/processes/program.hpp"

namespace penstock::torch_gloo_file {

constinit extern const BackendEntry torch_gloo_entry{
    .name = "torch_gloo",
    .summary = "PyTorch's own pipeline runtime on this computer's cores, a process a rank",
    .obstacle = [](const PricedPlan&) { return why_no_torch(); },
    .runs_layers = true,
    .make = nullptr,
    .length = torch_job_length,
    .wall_clock = true,
    .torch = {.group = "gloo", .device = "cpu"},
};

}  // namespace penstock::torch_gloo_file
