#pragma once

#include "validate/kernels/images/amoebanet_cell.hpp"
#include "validate/kernels/registry.hpp"

namespace penstock {

/// The kernel of a kind of AmoebaNet-D cell, from its table.
template <const CellTable& table>
constexpr KernelEntry amoebanet_kernel(std::string_view name) {
  using Numbers = const LayerNumbers&;
  using Run = const LayerRun&;
  return {
      .name = name,
      .columns = Columns::images,
      .rows_in = [](Numbers numbers) { return AmoebanetCell(table, numbers).rows_in(); },
      .rows_out = [](Numbers numbers) { return AmoebanetCell(table, numbers).rows_out(); },
      .rows_passed = [](Numbers numbers) { return AmoebanetCell(table, numbers).rows_passed(); },
      .weights = [](Numbers numbers) { return AmoebanetCell(table, numbers).weights(); },
      .forward =
          [](Run run, Tensor in, Tensors& kept) {
            return AmoebanetCell(table, run.numbers).forward(run, in, kept);
          },
      .input_gradient =
          [](Run run, Tensor gradient, Tensors& kept) {
            return AmoebanetCell(table, run.numbers).input_gradient(run, gradient, kept);
          },
      .weight_gradient =
          [](Run run, const Tensors& kept, Tensors& sums) {
            AmoebanetCell(table, run.numbers).weight_gradient(kept, sums);
          },
      .exact = (1U << AmoebanetCell::most_pools) - 1,
  };
}

}  // namespace penstock
