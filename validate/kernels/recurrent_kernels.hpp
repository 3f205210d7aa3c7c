#pragma once

#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/recurrence.hpp"

namespace penstock {

/// Why a kernel that carries a state runs no slices.
inline std::optional<std::string> why_no_slices(const LayerNumbers&, const CellShape& shape) {
  if (shape.slices == 1) return std::nullopt;
  return "slices: the kernel keeps the state of a sequence in one cell";
}

/// The kernel of a kind of layer with a state, from its scan: `Scan(numbers)` is a RecurrentScan.
template <class Scan>
constexpr KernelEntry recurrent_kernel(std::string_view name) {
  using Numbers = const LayerNumbers&;
  using Run = const LayerRun&;
  return {
      .name = name,
      .around = ResidualPart::ends,
      .why_not = why_no_slices,
      .weights = [](Numbers numbers) { return recurrent_weights(Scan(numbers)); },
      .forward =
          [](Run run, Tensor in, Tensors& kept) {
            return recurrent_forward(Scan(run.numbers), run, std::move(in), kept);
          },
      .input_gradient =
          [](Run run, Tensor gradient, Tensors& kept) {
            return recurrent_input_gradient(Scan(run.numbers), run, std::move(gradient), kept);
          },
      .weight_gradient = [](Run run, const Tensors& kept,
                            Tensors& sums) { recurrent_weight_gradient(run, kept, sums); },
  };
}

}  // namespace penstock
