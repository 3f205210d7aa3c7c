#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hardware_models/layers/building/building.hpp"

namespace penstock {

/// Values in columns, stored column by column. A column is a token, or an image: channel by
/// channel, row by row.
struct Tensor {
  Tensor() = default;
  Tensor(std::size_t the_rows, std::size_t the_columns)
      : rows(the_rows), columns(the_columns), values(the_rows * the_columns) {}

  bool empty() const { return values.empty(); }

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

/// What a layer keeps, or its weights; each kernel defines the order.
using Tensors = std::vector<Tensor>;

/// What a layer runs for: a microbatch, or a slice of its sequences.
struct KernelCell {
  std::uint64_t seed = 1;        // of all draws
  std::uint32_t microbatch = 0;  // counted in whole ones
  std::size_t examples = 1;
  std::size_t tokens = 1;  // per example, in this cell
  std::uint32_t slice = 0;
  std::uint32_t slices = 1;  // per sequence

  std::size_t sequence() const { return tokens * slices; }
  std::size_t first_token() const { return tokens * slice; }
};

/// What the slices of a microbatch pass to each other inside one layer, by slice. It outlives what
/// slices keep: later ones read keys and values of earlier ones.
struct SliceMemory {
  Tensors keys;
  Tensors values;
  Tensors key_gradients;
  Tensors value_gradients;
};

/// A layer in a pass.
struct LayerRun {
  const LayerNumbers& numbers;
  const KernelCell& cell;
  const Tensors& weights;
  SliceMemory& slices;
  std::uint32_t layer = 0;  // its number in the model

  /// A weight of layers with a flag; null without it.
  const Tensor* weight_if(std::string_view flag, std::size_t place) const {
    return numbers.is(flag) ? &weights[place] : nullptr;
  }
};

/// A tensor of weights, drawn uniformly from `centre` - `spread` to `centre` + `spread`.
struct WeightSpec {
  std::size_t rows = 0;
  std::size_t columns = 1;
  double spread = 0;
  double centre = 0;
};

/// What a column of a layer's input is.
enum class Columns : std::uint8_t { tokens, images };

/// A parameter of a layer as a size.
std::size_t size_of(const LayerNumbers& numbers, std::string_view name);

/// The spread of weights that keeps sums of this many inputs at about their size.
double spread_of_sum(std::size_t inputs);

}  // namespace penstock
