#pragma once

#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The tensors that latent attention keeps.
constexpr std::size_t latent_kept = 11;

/// Latent attention: queries, keys and values from normed latents. `choice` has a row for each key
/// and a column for each token, 1 where the token attends to the key; null: to all.
std::vector<WeightSpec> latent_weights(const LayerNumbers& numbers);
Tensor latent_forward(const LayerRun& run, Tensor in, Tensors& kept, const Tensor* choice);
Tensor latent_input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept,
                             const Tensor* choice);
void latent_weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums);

}  // namespace penstock
