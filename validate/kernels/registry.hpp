#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "validate/kernels/steps/layer_run.hpp"
#include "validate/kernels/steps/tensor.hpp"

namespace penstock {

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

}  // namespace penstock
