#include "hardware_models/codecs/code_book.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "hardware_models/codecs/shared_exponent.hpp"
#include "sim/portable_math.hpp"

namespace penstock {
namespace {

constexpr std::size_t fitted_values = std::size_t{1} << 17;
constexpr int most_iterations = 500;
constexpr std::size_t bins = 256;
constexpr std::uint32_t fitted_seed = 0x110D;

/// A magnitude as a share of twice the power of two of its block, and how much a square error of
/// it counts.
struct Share {
  double value;
  double weight;
};

std::vector<Share> shares_of(const BlockFormat& format, const std::vector<float>& values) {
  std::vector<Share> shares;
  for (std::size_t first = 0; first + format.block <= values.size(); first += format.block) {
    const std::span<const float> block(&values[first], format.block);
    float largest = 0;
    for (const float value : block) largest = std::max(largest, std::abs(value));
    const std::uint32_t code = exponent_code(largest, format.exponent_bits);
    const double whole = std::ldexp(1.0, exponent_of(code, format.exponent_bits) + 1);
    for (const float value : block) shares.push_back({std::abs(value) / whole, whole * whole});
  }
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.value != b.value ? a.value < b.value : a.weight < b.weight;
  });
  return shares;
}

/// Sums over the first n shares, so that the mean of any range is a difference.
struct Sums {
  std::vector<double> weight{0};
  std::vector<double> weighted{0};

  explicit Sums(const std::vector<Share>& shares) {
    for (const Share& share : shares) {
      weight.push_back(weight.back() + share.weight);
      weighted.push_back(weighted.back() + share.weight * share.value);
    }
  }
};

std::size_t count_below(const std::vector<Share>& shares, double value) {
  const auto end = std::lower_bound(shares.begin(), shares.end(), value,
                                    [](const Share& share, double v) { return share.value < v; });
  return static_cast<std::size_t>(end - shares.begin());
}

double third_root(double x) { return x > 0 ? portable_exp(portable_log(x) / 3) : 0; }

std::vector<double> even_levels(std::uint32_t count) {
  std::vector<double> levels;
  for (std::uint32_t i = 0; i < count; ++i) levels.push_back(static_cast<double>(i) / count);
  return levels;
}

/// Levels as dense as the third root of what the shares of each place weigh, which is best where
/// there are many levels (P. F. Panter and W. Dite, 1951).
std::vector<double> dense_levels(const std::vector<Share>& shares, const Sums& sums,
                                 std::uint32_t count) {
  std::vector<double> density;
  std::size_t first = 0;
  for (std::size_t bin = 1; bin <= bins; ++bin) {
    const std::size_t end = count_below(shares, static_cast<double>(bin) / bins);
    density.push_back(third_root(sums.weight[end] - sums.weight[first]));
    first = end;
  }
  const double each = std::accumulate(density.begin(), density.end(), 0.0) / count;
  std::vector<double> levels;
  double below = 0;  // density in front of a bin
  for (std::size_t bin = 0; bin < bins; ++bin) {
    while (levels.size() < count && below + density[bin] > each * levels.size()) {
      const double inside = (each * levels.size() - below) / density[bin];
      levels.push_back((static_cast<double>(bin) + inside) / bins);
    }
    below += density[bin];
  }
  levels.resize(count, 1);
  return levels;
}

/// Moves each level but the lowest to the mean of the shares that are nearest to it. Returns
/// whether any moved.
bool improve(std::vector<double>& levels, const std::vector<Share>& shares, const Sums& sums) {
  const std::vector<double> before = levels;
  std::size_t first = count_below(shares, (before[0] + before[1]) / 2);
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const bool last = i + 1 == levels.size();
    const std::size_t end =
        last ? shares.size() : count_below(shares, (before[i] + before[i + 1]) / 2);
    const double weight = sums.weight[end] - sums.weight[first];
    if (weight > 0) levels[i] = (sums.weighted[end] - sums.weighted[first]) / weight;
    first = end;
  }
  return levels != before;
}

/// The best levels that can be reached from these step by step, and their square error.
struct Fit {
  std::vector<double> levels;
  double error = 0;
};

Fit fit_from(std::vector<double> levels, const std::vector<Share>& shares, const Sums& sums) {
  for (int i = 0; i < most_iterations && improve(levels, shares, sums); ++i) {
  }
  Fit fit{std::move(levels), 0};
  std::size_t level = 0;
  for (const Share& share : shares) {
    const auto distance = [&](std::size_t l) { return std::abs(share.value - fit.levels[l]); };
    while (level + 1 < fit.levels.size() && distance(level + 1) < distance(level)) ++level;
    fit.error += share.weight * distance(level) * distance(level);
  }
  return fit;
}

}  // namespace

std::vector<double> fitted_levels(const BlockFormat& format, const Distribution& distribution) {
  const std::vector<Share> shares =
      shares_of(format, draw_values(distribution, fitted_values, fitted_seed));
  const Sums sums(shares);
  // Many levels do best from dense ones, few from even ones.
  Fit even = fit_from(even_levels(format.mantissas()), shares, sums);
  Fit dense = fit_from(dense_levels(shares, sums, format.mantissas()), shares, sums);
  return even.error <= dense.error ? std::move(even.levels) : std::move(dense.levels);
}

}  // namespace penstock
