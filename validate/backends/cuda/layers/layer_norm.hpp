#pragma once

#include <cmath>
#include <cstdint>

#include "validate/backends/cuda/arithmetic/pack.hpp"
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
    if (size % pack_size == 0) return row_of<pack_size>(column, team);
    row_of<1>(column, team);
  }

 private:
  template <unsigned each, class Team>
  PENSTOCK_BOTH void row_of(std::uint64_t column, const Team& team) const {
    using Some = Pack<Number, each>;
    const Number* const own = in + column * size;
    const auto mean_of = [&](const auto& part) {
      Sum sum = 0;
      for (std::uint64_t i = team.lane() * each; i < size; i += Team::lanes * each) {
        const Some here(own + i);
        for_each_of<each>([&](unsigned k) { sum += part(here.values[k]); });
      }
      return team.sum(sum) / static_cast<Sum>(size);
    };
    const Sum mean = mean_of([](Sum value) { return value; });
    const Sum variance = mean_of([&](Sum value) { return (value - mean) * (value - mean); });
    const Sum scale = 1 / std::sqrt(variance + static_cast<Sum>(layer_norm_epsilon));
    for (std::uint64_t i = team.lane() * each; i < size; i += Team::lanes * each) {
      Some here(own + i);
      const Some gain(weights + i);
      const Some shift(weights + size + i);
      for_each_of<each>([&](unsigned k) {
        here.values[k] = (here.values[k] - mean) * scale * gain.values[k] + shift.values[k];
      });
      here.write(out + column * size + i);
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
    if (size % pack_size == 0) return row_of<pack_size>(column, team);
    row_of<1>(column, team);
  }

 private:
  template <unsigned each, class Team>
  PENSTOCK_BOTH void row_of(std::uint64_t column, const Team& team) const {
    using Some = Pack<Number, each>;
    const std::uint64_t first = column * size;
    const Sum mean = kept.means[column];
    const Sum scale = kept.scales[column];
    // Calls visit(k, the gradient of a number's norm, its norm) for numbers from i on.
    const auto visit_at = [&](std::uint64_t i, const auto& visit) {
      const Some here(in + first + i);
      const Some gradient(out_gradient + first + i);
      const Some gain(weights + i);
      for_each_of<each>([&](unsigned k) {
        visit(k, gradient.values[k] * gain.values[k], (here.values[k] - mean) * scale);
      });
    };
    Sum straight = 0;
    Sum along = 0;
    for (std::uint64_t i = team.lane() * each; i < size; i += Team::lanes * each) {
      visit_at(i, [&](unsigned, Sum own, Sum normed) {
        straight += own;
        along += own * normed;
      });
    }
    straight = team.sum(straight) / static_cast<Sum>(size);
    along = team.sum(along) / static_cast<Sum>(size);
    for (std::uint64_t i = team.lane() * each; i < size; i += Team::lanes * each) {
      Some result(around + first + i);
      visit_at(i, [&](unsigned k, Sum own, Sum normed) {
        result.values[k] += scale * (own - straight - along * normed);
      });
      result.write(in_gradient + first + i);
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
