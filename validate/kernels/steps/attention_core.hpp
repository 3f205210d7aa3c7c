#pragma once

#include <vector>

#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of an attention; groups of query heads share key heads.
struct HeadSizes {
  explicit HeadSizes(const LayerNumbers& numbers);

  std::size_t hidden;
  std::size_t queries;  // heads
  std::size_t keys;     // heads
  std::size_t size;     // of a head
  bool causal;
  std::size_t window;    // 0: all
  Dropout dropout = {};  // of probabilities that weigh values
  // Of one slice: rows of keys, columns of tokens, 1 where a token attends to a key; null: all.
  const Tensor* choice = nullptr;

  std::size_t query_rows() const { return queries * size; }
  std::size_t key_rows() const { return keys * size; }
  std::size_t projected() const { return query_rows() + 2 * key_rows(); }
};

/// Scores, softmax and weighted values. An input column has a token's queries, keys and values; an
/// output column its result.
///
/// Keys and values of earlier slices come from their memory; this slice stores its own there.
Tensor attend(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
              SliceMemory& slices, Tensor* probabilities);

/// The probabilities before dropout: for each head and example one column per token of the cell,
/// one row per key so far.
Tensor attention_probabilities(const HeadSizes& sizes, const KernelCell& cell,
                               const Tensor& projected, const SliceMemory& slices);

/// The input gradient. Gradients of earlier slices' keys and values go to their memory; those that
/// later slices left for this one are added. Missing probabilities are recomputed.
Tensor attend_gradient(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
                       const Tensor& probabilities, const Tensor& gradient, SliceMemory& slices);

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
