#pragma once

#include <cstdint>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

// Draws are a function of seed and position only: the same on any rank, in any order and for any
// number of slices.

/// The purpose of a draw.
enum class Drawn : std::uint32_t { weight, number, target, token, mask };

/// Uniform between -1 and 1, at a position in a layer's tensor or a microbatch's column.
double draw(std::uint64_t seed, Drawn drawn, std::uint32_t of, std::uint32_t part,
            std::uint64_t place);

/// The initial weights of a layer, by its number in the model.
Tensors initial_weights(const std::vector<WeightSpec>& specs, std::uint64_t seed,
                        std::uint32_t layer);

/// The token at a position of an example: the embedding reads it; one position further it is the
/// label of the head.
std::size_t token_at(const KernelCell& cell, std::size_t example, std::size_t token,
                     std::size_t vocab);

/// The token ids of a cell, one per column.
Tensor drawn_tokens(const KernelCell& cell, std::size_t vocab);

/// Columns of a cell: inputs of models without embedding, or targets.
Tensor drawn_numbers(const KernelCell& cell, Columns columns, std::size_t rows, Drawn drawn);

/// The number of columns of a cell.
std::size_t columns_of(const KernelCell& cell, Columns columns);

/// Dropout in a layer: zeroes values with a probability and divides the others by the rest. Which
/// ones follows from seed, microbatch, layer and place: a gradient goes the same way as its values,
/// and slices have what their sequence has.
struct Dropout {
  double probability = 0;
  std::uint32_t layer = 0;

  /// The factor of a value: 0, or one above 1. `place` is that in its whole microbatch, among those
  /// of the same `part` of the layer.
  double factor(const KernelCell& cell, std::uint32_t part, std::uint64_t place) const;
};

/// As the layer states it.
Dropout dropout_of(const LayerRun& run);

/// Multiplies the outputs of a layer, or their gradient, in columns of tokens.
void drop_out(const LayerRun& run, Tensor& columns);

}  // namespace penstock
