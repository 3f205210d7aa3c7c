#pragma once

#include <cmath>
#include <cstdint>

#include "validate/backends/cuda/arithmetic/pack.hpp"
#include "validate/backends/cuda/arithmetic/team.hpp"

namespace penstock {

// Causal attention with the scores of one key at a time, none of which are kept. A team of lanes
// does a row, and each lane some numbers of a head, side by side. Columns of `projected` hold the
// queries, keys and values of a token, head by head.

/// The sizes; `head` is that of a head.
template <unsigned head>
struct AttentionSizes {
  std::uint32_t examples;
  std::uint32_t tokens;  // of an example
  std::uint32_t heads;

  PENSTOCK_BOTH std::uint64_t hidden() const { return std::uint64_t{heads} * head; }
  PENSTOCK_BOTH std::uint64_t rows() const { return std::uint64_t{examples} * heads * tokens; }
  template <class Sum>
  PENSTOCK_BOTH Sum scale() const {
    return 1 / std::sqrt(static_cast<Sum>(head));
  }
};

/// Where a row is: rows of a head's tokens lie side by side.
template <unsigned head>
struct AttentionPlace {
  std::uint64_t token;   // of its example
  std::uint64_t column;  // of the first token of its example
  std::uint64_t offset;  // of its head, in a column of hidden numbers
  std::uint64_t first;   // row of the first token

  PENSTOCK_BOTH AttentionPlace(const AttentionSizes<head>& sizes, std::uint64_t row)
      : token(row % sizes.tokens),
        column(row / sizes.tokens / sizes.heads * sizes.tokens),
        offset(row / sizes.tokens % sizes.heads * head),
        first(row - token) {}
};

/// F, a row per query: the softmax of its scores goes along with the largest one so far.
template <class Number, unsigned head>
struct CausalAttention {
  static constexpr unsigned lanes = 8;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  AttentionSizes<head> sizes;
  const Number* projected;
  Number* out;
  Sum* log_sums;  // by row: the logarithm of the sum of the exponentials of its scores

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t row, const Team& team) const {
    constexpr unsigned own = head / Team::lanes;
    using Part = Pack<Number, own>;
    const AttentionPlace<head> place(sizes, row);
    const std::uint64_t hidden = sizes.hidden();
    const std::uint64_t offset = place.offset + team.lane() * own;
    const Number* const example = projected + place.column * 3 * hidden + offset;
    Part query(example + place.token * 3 * hidden);
    query.scale(sizes.template scale<Sum>());
    Part mean;
    Sum largest = 0;
    Sum total = 0;
    for (std::uint64_t key = 0; key <= place.token; ++key) {
      const Number* const seen = example + key * 3 * hidden;
      const Sum score = team.sum(query.times(Part(seen + hidden)));
      if (key == 0 || score > largest) {
        const Sum shrinks = key == 0 ? 0 : std::exp(largest - score);
        total *= shrinks;
        mean.scale(shrinks);
        largest = score;
      }
      const Sum share = std::exp(score - largest);
      total += share;
      mean.add(share, Part(seen + 2 * hidden));
    }
    mean.scale(1 / total);
    mean.write(out + (place.column + place.token) * hidden + offset);
    if (team.lane() == 0) log_sums[row] = largest + std::log(total);
  }
};

/// What both gradients read and write.
template <class Number, unsigned head>
struct AttentionGradient {
  static constexpr unsigned lanes = 8;
  using Sum = SumOf<Number>;

  std::uint64_t count;
  AttentionSizes<head> sizes;
  const Number* projected;
  const Number* out;
  const Sum* log_sums;
  const Number* out_gradient;
  Sum* mean_slopes;  // by row: of its scores, weighed by their shares
  Number* projected_gradient;
};

/// I, a row per query: the gradient of queries.
template <class Number, unsigned head>
struct QueryGradient : AttentionGradient<Number, head> {
  using Sum = SumOf<Number>;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t row, const Team& team) const {
    constexpr unsigned own = head / Team::lanes;
    using Part = Pack<Number, own>;
    const AttentionPlace<head> place(this->sizes, row);
    const std::uint64_t hidden = this->sizes.hidden();
    const std::uint64_t offset = place.offset + team.lane() * own;
    const std::uint64_t result = (place.column + place.token) * hidden + offset;
    const std::uint64_t first = place.column * 3 * hidden + offset;
    const Number* const example = this->projected + first;
    Part query(example + place.token * 3 * hidden);
    query.scale(this->sizes.template scale<Sum>());
    const Part above(this->out_gradient + result);
    const Sum mean_slope = team.sum(above.times(Part(this->out + result)));
    const Sum log_sum = this->log_sums[row];
    Part sum;
    for (std::uint64_t key = 0; key <= place.token; ++key) {
      const Number* const seen = example + key * 3 * hidden;
      const Part other(seen + hidden);
      const Sum share = std::exp(team.sum(query.times(other)) - log_sum);
      const Sum slope = team.sum(above.times(Part(seen + 2 * hidden)));
      sum.add(share * (slope - mean_slope), other);
    }
    sum.scale(this->sizes.template scale<Sum>());
    sum.write(this->projected_gradient + first + place.token * 3 * hidden);
    if (team.lane() == 0) this->mean_slopes[row] = mean_slope;
  }
};

/// I, after that of queries, a row per key: the gradients of keys and values.
template <class Number, unsigned head>
struct KeyGradient : AttentionGradient<Number, head> {
  using Sum = SumOf<Number>;

  template <class Team>
  PENSTOCK_BOTH void row(std::uint64_t row, const Team& team) const {
    constexpr unsigned own = head / Team::lanes;
    using Part = Pack<Number, own>;
    const AttentionPlace<head> place(this->sizes, row);
    const std::uint64_t hidden = this->sizes.hidden();
    const std::uint64_t offset = place.offset + team.lane() * own;
    const std::uint64_t first = place.column * 3 * hidden + offset;
    const std::uint64_t here = first + place.token * 3 * hidden;
    Part key(this->projected + here + hidden);
    key.scale(this->sizes.template scale<Sum>());
    const Part value(this->projected + here + 2 * hidden);
    Part key_sum;
    Part value_sum;
    for (std::uint64_t token = place.token; token < this->sizes.tokens; ++token) {
      const Part query(this->projected + first + token * 3 * hidden);
      const Part above(this->out_gradient + (place.column + token) * hidden + offset);
      const std::uint64_t other = place.first + token;
      const Sum share = std::exp(team.sum(key.times(query)) - this->log_sums[other]);
      const Sum slope = team.sum(value.times(above));
      value_sum.add(share, above);
      key_sum.add(share * (slope - this->mean_slopes[other]), query);
    }
    key_sum.scale(this->sizes.template scale<Sum>());
    key_sum.write(this->projected_gradient + here + hidden);
    value_sum.write(this->projected_gradient + here + 2 * hidden);
  }
};

}  // namespace penstock
