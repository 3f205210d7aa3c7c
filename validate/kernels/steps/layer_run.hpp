#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hardware_models/layers/building/layer_work.hpp"
#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

/// What a layer runs for at a time: a microbatch, or a slice of the sequences of one.
struct KernelCell {
  std::uint64_t seed = 1;        // of all that is drawn
  std::uint32_t microbatch = 0;  // the whole one
  std::size_t examples = 1;
  std::size_t tokens = 1;  // of each example, in this cell
  std::uint32_t slice = 0;
  std::uint32_t slices = 1;  // of a sequence

  std::size_t sequence() const { return tokens * slices; }
  std::size_t first_token() const { return tokens * slice; }
};

/// What the slices of a microbatch hand to each other inside one layer, by slice. It outlives what
/// the slices keep for themselves: later ones look at the keys and values of earlier ones.
struct SliceMemory {
  Tensors keys;
  Tensors values;
  Tensors key_gradients;
  Tensors value_gradients;
};

/// A layer as a pass runs it.
struct LayerRun {
  const LayerNumbers& numbers;
  const KernelCell& cell;
  const Tensors& weights;
  SliceMemory& slices;
};

/// A tensor of weights, drawn evenly from `centre` - `spread` to `centre` + `spread`.
struct WeightSpec {
  std::size_t rows = 0;
  std::size_t columns = 1;
  double spread = 0;
  double centre = 0;
};

/// What the columns are that go through a layer.
enum class Columns : std::uint8_t { tokens, images };

/// A number of a layer as a size.
std::size_t size_of(const LayerNumbers& numbers, std::string_view name);

/// How far weights are spread that sum so many numbers: sums stay about as large as these.
double spread_of_sum(std::size_t inputs);

/// "MAKES 1, which …": why a flag that is set is not run; nothing where it is not.
std::optional<std::string> why_not_flag(const LayerNumbers& numbers, std::string_view flag,
                                        std::string_view why);

}  // namespace penstock
