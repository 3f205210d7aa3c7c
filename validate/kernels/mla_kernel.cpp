#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/attention_core.hpp"

namespace penstock::mla_kernel_file {
namespace {

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& shape) {
  if (size_of(numbers, "rope") % 2 != 0) return "an odd \"rope\": the mla kernel turns pairs";
  if (numbers.is("causal") || shape.slices == 1) return std::nullopt;
  return "\"causal\" 0: a slice would attend to slices that have not run";
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  return latent_forward(run, std::move(in), kept, nullptr);
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  return latent_input_gradient(run, std::move(gradient), kept, nullptr);
}

}  // namespace

constinit extern const KernelEntry mla_kernel_entry{
    .name = "mla",
    .around = ResidualPart::ends,
    .why_not = why_not,
    .weights = latent_weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = latent_weight_gradient,
};

}  // namespace penstock::mla_kernel_file
