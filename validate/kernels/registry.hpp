#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "validate/kernels/steps/layer_run.hpp"

namespace penstock {

/// Where in a model a kind of layer may occur.
enum class Ends : std::uint8_t {
  neither,
  first,  // reads token ids: no input gradient
  last,   // produces the cell's share of the loss of its microbatch
};

/// The layer's role in a residual connection.
enum class ResidualPart : std::uint8_t {
  nothing,
  begins,  // passes its input on, also to the layer after it that adds it
  ends,    // adds the residual: the input of the norm before it, otherwise its own
};

/// Rows of a column that is the vector of a token.
inline std::size_t hidden_rows(const LayerNumbers& numbers) { return size_of(numbers, "hidden"); }

/// How a kind of layer runs, in doubles whatever its precision. A kernel is one .cpp in this
/// folder, named after its kind.
///
/// F fills what it keeps. I reads that and replaces it by what W needs. W adds to gradient sums,
/// which have the shapes of the weights.
struct KernelEntry {
  std::string_view name;  // the kind of layer
  Columns columns = Columns::tokens;
  std::optional<Columns> columns_out = {};  // where they are others than those of its input
  Ends ends = Ends::neither;
  ResidualPart around = ResidualPart::nothing;
  /// Why a layer is not supported; nothing when it is. Null: all are.
  std::optional<std::string> (*why_not)(const LayerNumbers& numbers,
                                        const CellShape& shape) = nullptr;
  /// Rows of an input column and of an output column.
  std::size_t (*rows_in)(const LayerNumbers& numbers) = hidden_rows;
  std::size_t (*rows_out)(const LayerNumbers& numbers) = hidden_rows;
  /// Of a layer that reads the outputs of the two layers before it, the newer above the older: rows
  /// of the newer one, which it passes on below its own. Null: it reads one.
  std::size_t (*rows_passed)(const LayerNumbers& numbers) = nullptr;
  std::vector<WeightSpec> (*weights)(const LayerNumbers& numbers);

  Tensor (*forward)(const LayerRun& run, Tensor in, Tensors& kept);
  Tensor (*input_gradient)(const LayerRun& run, Tensor gradient, Tensors& kept);
  void (*weight_gradient)(const LayerRun& run, const Tensors& kept, Tensors& sums);
  /// Bits of the kept tensors that no codec may change: indices, such as token ids.
  std::uint32_t exact = 0;
  /// What selective recomputation drops after F. Null: nothing.
  void (*drop_selected)(Tensors& kept) = nullptr;
  void (*recompute_selected)(const LayerRun& run, Tensors& kept) = nullptr;

  Columns columns_left() const { return columns_out.value_or(columns); }
};

/// All kernels, by kind of layer.
std::span<const KernelEntry* const> kernel_entries();

}  // namespace penstock
