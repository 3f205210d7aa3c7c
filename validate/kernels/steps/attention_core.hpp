#pragma once

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// The sizes of an attention: heads of queries share heads of keys in groups.
struct HeadSizes {
  explicit HeadSizes(const LayerNumbers& numbers);

  std::size_t hidden;
  std::size_t queries;  // heads
  std::size_t keys;     // heads
  std::size_t size;     // of a head
  bool causal;
  std::size_t window;  // 0: all

  std::size_t query_rows() const { return queries * size; }
  std::size_t key_rows() const { return keys * size; }
  std::size_t projected() const { return query_rows() + 2 * key_rows(); }
};

/// What scores, softmax and the mean of values make: what lies between the projections. A column of
/// what comes in has a token's queries, keys and values; one of what goes on has its means.
///
/// Keys and values of earlier slices come from their memory, where those of this one are left.
Tensor attend(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
              SliceMemory& slices, Tensor* probabilities);

/// The probabilities by themselves: for each head of each example so many columns as the cell has
/// tokens, with a row for each key seen so far.
Tensor attention_probabilities(const HeadSizes& sizes, const KernelCell& cell,
                               const Tensor& projected, const SliceMemory& slices);

/// The gradient of what came in. Gradients of earlier slices' keys and values are left in their
/// memory, from where those that later slices left for this one are taken. Without probabilities
/// these are made again.
Tensor attend_gradient(const HeadSizes& sizes, const KernelCell& cell, const Tensor& projected,
                       const Tensor& probabilities, const Tensor& gradient, SliceMemory& slices);

}  // namespace penstock
