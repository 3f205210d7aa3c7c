#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"
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

/// Where in a model a kind of layer may stand.
enum class Ends : std::uint8_t {
  neither,
  first,  // what comes in are the numbers of tokens: no gradient goes back
  last,   // what goes on is one number, the cell's share of the loss of its microbatch
};

/// What goes around a layer, as residuals do.
enum class Around : std::uint8_t {
  nothing,
  begins,  // what came in goes around it, and around the layer behind it that adds it
  ends,    // it adds what goes around: what came into the norm in front, else into itself
};

/// How a kind of layer is really run, in doubles whatever its formats are. A kernel is one .cpp of
/// this folder, called after its kind.
///
/// A forward fills what it keeps. The input gradient reads that, and leaves in its place what the
/// weight gradient needs; that one adds to sums, which have the shapes of the weights.
struct KernelEntry {
  std::string_view name;  // the kind of layer
  Columns columns = Columns::tokens;
  Ends ends = Ends::neither;
  Around around = Around::nothing;
  /// What of a layer is not run; nothing where all is. Null: there is nothing to refuse.
  std::optional<std::string> (*why_not)(const LayerNumbers& numbers,
                                        const CellShape& shape) = nullptr;
  /// Numbers of a column that comes in, and of one that goes on.
  std::size_t (*rows_in)(const LayerNumbers& numbers);
  std::size_t (*rows_out)(const LayerNumbers& numbers);
  std::vector<WeightSpec> (*weights)(const LayerNumbers& numbers);

  Tensor (*forward)(const LayerRun& run, Tensor in, Tensors& kept);
  Tensor (*input_gradient)(const LayerRun& run, Tensor gradient, Tensors& kept);
  void (*weight_gradient)(const LayerRun& run, const Tensors& kept, Tensors& sums);
  /// What selective recomputation drops behind F, and makes again. Null: nothing.
  void (*drop_selected)(Tensors& kept) = nullptr;
  void (*make_selected)(const LayerRun& run, Tensors& kept) = nullptr;
};

/// All kernels, by kind of layer.
std::span<const KernelEntry* const> kernel_entries();

/// A number of a layer as a size.
std::size_t size_of(const LayerNumbers& numbers, std::string_view name);

/// How far weights are spread that sum so many numbers: sums stay about as large as these.
double spread_of_sum(std::size_t inputs);

/// "MAKES 1, which …": why a flag that is set is not run; nothing where it is not.
std::optional<std::string> why_not_flag(const LayerNumbers& numbers, std::string_view flag,
                                        std::string_view why);

}  // namespace penstock
