#include "validate/kernels/steps/drawn.hpp"

#include <array>

#include "sim/base/random.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_parts = 2;  // outputs and scores

/// Between 0 and 1.
double share(std::uint64_t seed, Drawn drawn, std::uint32_t of, std::uint32_t part,
             std::uint64_t place) {
  const auto high = static_cast<std::uint32_t>(place >> 32);
  const std::array<std::uint32_t, 4> counter{static_cast<std::uint32_t>(place), high, of, part};
  const std::array<std::uint32_t, 2> key{
      static_cast<std::uint32_t>(seed),
      static_cast<std::uint32_t>(seed >> 32) ^ (static_cast<std::uint32_t>(drawn) << 28)};
  const auto bits = philox(counter, key);
  return uniform(std::uint64_t{bits[0]} << 32 | bits[1]);
}

}  // namespace

double draw(std::uint64_t seed, Drawn drawn, std::uint32_t of, std::uint32_t part,
            std::uint64_t place) {
  return 2 * share(seed, drawn, of, part, place) - 1;
}

Tensors initial_weights(const std::vector<WeightSpec>& specs, std::uint64_t seed,
                        std::uint32_t layer) {
  Tensors weights;
  for (std::uint32_t part = 0; part < specs.size(); ++part) {
    const WeightSpec& spec = specs[part];
    Tensor& tensor = weights.emplace_back(spec.rows, spec.columns);
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = spec.centre + spec.spread * draw(seed, Drawn::weight, layer, part, i);
    }
  }
  return weights;
}

std::size_t token_at(const KernelCell& cell, std::size_t example, std::size_t token,
                     std::size_t vocab) {
  const double drawn =
      share(cell.seed, Drawn::token, cell.microbatch, static_cast<std::uint32_t>(example), token);
  return static_cast<std::size_t>(drawn * static_cast<double>(vocab));
}

Tensor drawn_tokens(const KernelCell& cell, std::size_t vocab) {
  Tensor tokens(1, columns_of(cell, Columns::tokens));
  for (std::size_t column = 0; column < tokens.columns; ++column) {
    const std::size_t token = cell.first_token() + column % cell.tokens;
    tokens.values[column] = static_cast<double>(token_at(cell, column / cell.tokens, token, vocab));
  }
  return tokens;
}

Tensor drawn_numbers(const KernelCell& cell, Columns columns, std::size_t rows, Drawn drawn) {
  Tensor numbers(rows, columns_of(cell, columns));
  const std::size_t of_example = numbers.columns / cell.examples;
  for (std::size_t column = 0; column < numbers.columns; ++column) {
    const std::size_t skipped = columns == Columns::tokens ? cell.first_token() : 0;
    const std::size_t first = (skipped + column % of_example) * rows;
    const auto example = static_cast<std::uint32_t>(column / of_example);
    for (std::size_t row = 0; row < rows; ++row) {
      numbers.values[column * rows + row] =
          draw(cell.seed, drawn, cell.microbatch, example, first + row);
    }
  }
  return numbers;
}

std::size_t columns_of(const KernelCell& cell, Columns columns) {
  return columns == Columns::tokens ? cell.examples * cell.tokens : cell.examples;
}

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
