#pragma once

#include <cstdint>
#include <vector>

#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

// What is drawn is a function of the seed and of its own place, so that it is the same on whichever
// rank, in whichever order and in however many slices it is drawn.

/// What a draw is for.
enum class Drawn : std::uint32_t { weight, number, target, token };

/// Evenly between -1 and 1, at a place of something: a layer's tensor, a microbatch's column.
double draw(std::uint64_t seed, Drawn drawn, std::uint32_t of, std::uint32_t part,
            std::uint64_t place);

/// The weights that a layer of the model, by its number, begins with.
Tensors initial_weights(const std::vector<WeightSpec>& specs, std::uint64_t seed,
                        std::uint32_t layer);

/// Which of so many tokens stands at a place of an example: what an embedding reads, and one
/// further what a head is to tell.
std::size_t token_at(const KernelCell& cell, std::size_t example, std::size_t token,
                     std::size_t vocab);

/// The numbers of the tokens of a cell, one a column.
Tensor drawn_tokens(const KernelCell& cell, std::size_t vocab);

/// Columns of a cell, for models that begin with numbers, or for what these are to become.
Tensor drawn_numbers(const KernelCell& cell, Columns columns, std::size_t rows, Drawn drawn);

/// How many columns a cell has.
std::size_t columns_of(const KernelCell& cell, Columns columns);

}  // namespace penstock
