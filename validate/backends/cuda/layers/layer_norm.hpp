#pragma once

#include <cmath>
#include <cstdint>

#include "validate/backends/cuda/arithmetic/number.hpp"
#include "validate/backends/cuda/arithmetic/team.hpp"

namespace penstock {

// Layer norm with gain and shift: each column of numbers is centred and scaled to a variance of 1.

/// Added to a variance, to avoid a division by zero.
constexpr double layer_norm_epsilon = 1e-5;

/// What F keeps of a column: it is normed to (number - mean) * scale.
template <class Number>
struct NormScales {
  SumOf<Number>* means;
  SumOf<Number>* scales;
};

/// F, a row per column of numbers.
template <class Number>
struct LayerNorm {
  static constexpr unsigned lanes = 32;
  using Sum = SumOf<Number>;

  std::uint64_t count;  // columns
  std::uint32_t size;   // of a column
  const Number* in;
  const Number* weights;  // gain, then shift
  Number* out;
  NormScales<Number> kept;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t column, const Team& team) const {
    const Number* const own = in + column * size;
    const auto value = [&](std::uint64_t i) { return value_of(own[i]); };
    const Sum mean = sum_of<Sum>(team, size, value) / static_cast<Sum>(size);
    const auto square = [&](std::uint64_t i) { return (value(i) - mean) * (value(i) - mean); };
    const Sum variance = sum_of<Sum>(team, size, square) / static_cast<Sum>(size);
    const Sum scale = 1 / std::sqrt(variance + static_cast<Sum>(layer_norm_epsilon));
    for (std::uint64_t i = team.lane(); i < size; i += Team::lanes) {
      const Sum normed = (value(i) - mean) * scale;
      out[column * size + i] =
          rounded<Number>(normed * value_of(weights[i]) + value_of(weights[size + i]));
    }
    if (team.lane() != 0) return;
    kept.means[column] = mean;
    kept.scales[column] = scale;
  }
};

/// I, a row per column: adds the gradient around the norm.
template <class Number>
struct LayerNormGradient {
  static constexpr unsigned lanes = 32;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  std::uint32_t size;
  const Number* in;
  const Number* weights;
  NormScales<Number> kept;
  const Number* out_gradient;
  const Number* around;  // the gradient of what goes past the norm
  Number* in_gradient;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t column, const Team& team) const {
    const std::uint64_t first = column * size;
    const Sum mean = kept.means[column];
    const Sum scale = kept.scales[column];
    const auto normed = [&](std::uint64_t i) { return (value_of(in[first + i]) - mean) * scale; };
    const auto own = [&](std::uint64_t i) {
      return value_of(out_gradient[first + i]) * value_of(weights[i]);
    };
    const Sum straight = sum_of<Sum>(team, size, own) / static_cast<Sum>(size);
    const auto product = [&](std::uint64_t i) { return own(i) * normed(i); };
    const Sum along = sum_of<Sum>(team, size, product) / static_cast<Sum>(size);
    for (std::uint64_t i = team.lane(); i < size; i += Team::lanes) {
      const Sum through = scale * (own(i) - straight - along * normed(i));
      in_gradient[first + i] = rounded<Number>(value_of(around[first + i]) + through);
    }
  }
};

/// W, the sums over some columns of the gradients of gain and shift: an element per number of a
/// column and part of the columns.
template <class Number>
struct NormWeightParts {
  static constexpr unsigned lanes = 0;
  static constexpr std::uint32_t columns_of_part = 64;
  using Sum = SumOf<Number>;

  std::uint64_t count;  // parts * size
  std::uint32_t size;
  std::uint32_t columns;
  const Number* in;
  NormScales<Number> kept;
  const Number* out_gradient;
  Sum* parts;  // by part: of the gain, then of the shift

  PENSTOCK_BOTH void at(std::uint64_t element) const {
    const std::uint64_t part = element / size;
    const std::uint64_t number = element % size;
    const std::uint64_t begin = part * columns_of_part;
    const std::uint64_t end = begin + columns_of_part < columns ? begin + columns_of_part : columns;
    Sum gain = 0;
    Sum shift = 0;
    for (std::uint64_t column = begin; column < end; ++column) {
      const Sum gradient = value_of(out_gradient[column * size + number]);
      const Sum centred = value_of(in[column * size + number]) - kept.means[column];
      gain += gradient * (centred * kept.scales[column]);
      shift += gradient;
    }
    parts[part * 2 * size + number] = gain;
    parts[(part * 2 + 1) * size + number] = shift;
  }
};

/// How many parts of columns there are.
template <class Number>
std::uint32_t norm_parts(std::uint32_t columns) {
  constexpr std::uint32_t each = NormWeightParts<Number>::columns_of_part;
  return (columns + each - 1) / each;
}

}  // namespace penstock
