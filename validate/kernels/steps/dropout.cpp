#include "validate/kernels/steps/dropout.hpp"

#include "validate/kernels/steps/drawn.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_parts = 2;  // outputs and scores

}  // namespace

double Dropout::factor(const KernelCell& cell, std::uint32_t part, std::uint64_t place) const {
  const double drawn =
      draw(cell.seed, Drawn::mask, cell.microbatch, layer * most_parts + part, place);
  return drawn < 2 * probability - 1 ? 0 : 1 / (1 - probability);
}

Dropout dropout_of(const LayerRun& run) { return {run.numbers["dropout"], run.layer}; }

void drop_out(const LayerRun& run, Tensor& columns) {
  const Dropout dropout = dropout_of(run);
  if (dropout.probability == 0) return;
  const KernelCell& cell = run.cell;
  for (std::size_t column = 0; column < columns.columns; ++column) {
    const std::size_t token = cell.first_token() + column % cell.tokens;
    const std::size_t first = (column / cell.tokens * cell.sequence() + token) * columns.rows;
    for (std::size_t row = 0; row < columns.rows; ++row) {
      columns.values[column * columns.rows + row] *= dropout.factor(cell, 0, first + row);
    }
  }
}

}  // namespace penstock
