#include "hardware_models/codecs/coding/code_book.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "hardware_models/codecs/coding/shared_exponent.hpp"
#include "sim/base/portable_math.hpp"

namespace penstock {
namespace {

constexpr std::size_t fitted_values = std::size_t{1} << 17;
constexpr int most_iterations = 500;
constexpr std::size_t bins = std::size_t{1} << 14;
constexpr std::size_t wide_bins = 256;
constexpr std::uint32_t fitted_seed = 0x110D;

/// A histogram of magnitudes as shares of 2^(E + 1) of their block. For the first n bins: the sums
/// of weight, weight × share and weight × share². Differences give the mean and the error of any
/// range.
struct Sums {
  std::vector<double> weight = std::vector<double>(bins + 1);
  std::vector<double> first = std::vector<double>(bins + 1);
  std::vector<double> second = std::vector<double>(bins + 1);

  void add(double share, double counts) {
    const std::size_t bin = static_cast<std::size_t>(std::min(share * bins, bins - 1.0));
    weight[bin + 1] += counts;
    first[bin + 1] += counts * share;
    second[bin + 1] += counts * share * share;
  }
  void add_up() {
    for (auto* sum : {&weight, &first, &second}) {
      std::partial_sum(sum->begin(), sum->end(), sum->begin());
    }
  }
};

Sums sums_of(const BlockFormat& format, const std::vector<float>& values) {
  Sums sums;
  for (std::size_t first = 0; first + format.block <= values.size(); first += format.block) {
    const std::span<const float> block(&values[first], format.block);
    float largest = 0;
    for (const float value : block) largest = std::max(largest, std::abs(value));
    const std::uint32_t code = exponent_code(largest, format.exponent_bits);
    const double whole = std::ldexp(1.0, exponent_of(code, format.exponent_bits) + 1);
    for (const float value : block) sums.add(std::abs(value) / whole, whole * whole);
  }
  sums.add_up();
  return sums;
}

double third_root(double x) { return x > 0 ? portable_exp(portable_log(x) / 3) : 0; }

std::vector<double> even_levels(std::uint32_t count) {
  std::vector<double> levels;
  for (std::uint32_t i = 0; i < count; ++i) levels.push_back(static_cast<double>(i) / count);
  return levels;
}

/// Levels with a density proportional to the cube root of the weight at each place, which is best
/// for many levels (P. F. Panter and W. Dite, 1951).
std::vector<double> dense_levels(const Sums& sums, std::uint32_t count) {
  std::vector<double> density;
  for (std::size_t bin = 0; bin < bins; bin += bins / wide_bins) {
    density.push_back(third_root(sums.weight[bin + bins / wide_bins] - sums.weight[bin]));
  }
  const double each = std::accumulate(density.begin(), density.end(), 0.0) / count;
  std::vector<double> levels;
  double below = 0;  // density before a bin
  for (std::size_t bin = 0; bin < wide_bins; ++bin) {
    while (levels.size() < count && below + density[bin] > each * levels.size()) {
      const double inside = (each * levels.size() - below) / density[bin];
      levels.push_back((static_cast<double>(bin) + inside) / wide_bins);
    }
    below += density[bin];
  }
  levels.resize(count, 1);
  return levels;
}

/// Bins below the midpoint between a level and the next, that is, the bins of all levels up to it.
std::size_t bins_up_to(const std::vector<double>& levels, std::size_t level) {
  if (level + 1 == levels.size()) return bins;
  const double middle = (levels[level] + levels[level + 1]) / 2;
  return std::min(static_cast<std::size_t>(std::nearbyint(middle * bins)), bins);
}

/// Moves each level but the lowest to the mean of its nearest shares. Returns whether any moved.
bool improve(std::vector<double>& levels, const Sums& sums) {
  const std::vector<double> before = levels;
  std::size_t begin = bins_up_to(before, 0);
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const std::size_t end = bins_up_to(before, i);
    const double weight = sums.weight[end] - sums.weight[begin];
    if (weight > 0) levels[i] = (sums.first[end] - sums.first[begin]) / weight;
    begin = end;
  }
  return levels != before;
}

/// The best levels found by iteration from a start, and their square error.
struct Fit {
  std::vector<double> levels;
  double error = 0;
};

Fit fit_from(std::vector<double> levels, const Sums& sums) {
  for (int i = 0; i < most_iterations && improve(levels, sums); ++i) {
  }
  Fit fit{std::move(levels), 0};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < fit.levels.size(); ++i) {
    const std::size_t end = bins_up_to(fit.levels, i);
    const double level = fit.levels[i];
    fit.error += sums.second[end] - sums.second[begin] -
                 2 * level * (sums.first[end] - sums.first[begin]) +
                 level * level * (sums.weight[end] - sums.weight[begin]);
    begin = end;
  }
  return fit;
}

}  // namespace

std::vector<double> fitted_levels(const BlockFormat& format,
                                  const ValueDistribution& distribution) {
  const Sums sums = sums_of(format, draw_values(distribution, fitted_values, fitted_seed));
  // Dense starts suit many levels, even starts few.
  Fit even = fit_from(even_levels(format.mantissas()), sums);
  Fit dense = fit_from(dense_levels(sums, format.mantissas()), sums);
  return even.error <= dense.error ? std::move(even.levels) : std::move(dense.levels);
}

}  // namespace penstock
