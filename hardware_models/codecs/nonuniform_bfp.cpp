#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "sim/base/parameters.hpp"

namespace penstock::nonuniform_bfp_file {
namespace {

constexpr std::size_t fitted_values = std::size_t{1} << 17;
constexpr std::size_t bins = std::size_t{1} << 12;  // 32 for each of the most levels
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

/// Ends of consecutive ranges of bins, and beginnings of the last range among them.
struct Ends {
  std::size_t first_end, last_end;
  std::size_t first_begin, last_begin;
};

/// The best division of the bins into one range per level: exact, because the error of a range
/// fulfils the quadrangle inequality, so that best beginnings ascend with the ends.
class Division {
 public:
  Division(const Sums& sums, std::uint32_t levels, bool keeps_zero)
      : sums_(sums), least_(bins + 1), begin_(levels, std::vector<std::uint16_t>(bins + 1)) {
    for (std::size_t end = 0; end <= bins; ++end) {
      least_[end] = keeps_zero ? sums.second[end] : error(0, end);
    }
    for (std::uint32_t level = 1; level < levels; ++level) {
      before_ = std::exchange(least_, std::vector<double>(bins + 1, none));
      fill(begin_[level], {0, bins, 0, bins});
    }
  }

  /// The mean share of each range.
  std::vector<double> levels(bool keeps_zero) const {
    std::vector<double> levels(begin_.size());
    std::size_t end = bins;
    for (std::size_t level = levels.size(); level-- > 0;) {
      const std::size_t begin = begin_[level][end];
      levels[level] = level == 0 && keeps_zero ? 0 : mean(begin, end);
      end = begin;
    }
    return levels;
  }

 private:
  static constexpr double none = std::numeric_limits<double>::infinity();

  double mean(std::size_t begin, std::size_t end) const {
    const double weight = sums_.weight[end] - sums_.weight[begin];
    return weight > 0 ? (sums_.first[end] - sums_.first[begin]) / weight
                      : static_cast<double>(begin) / bins;
  }

  /// The square error of a range around its mean.
  double error(std::size_t begin, std::size_t end) const {
    const double first = sums_.first[end] - sums_.first[begin];
    return sums_.second[end] - sums_.second[begin] - first * mean(begin, end);
  }

  void fill(std::vector<std::uint16_t>& begins, Ends ends) {
    const std::size_t end = ends.first_end + (ends.last_end - ends.first_end) / 2;
    std::size_t best = ends.first_begin;
    for (std::size_t begin = ends.first_begin; begin <= std::min(end, ends.last_begin); ++begin) {
      const double sum = before_[begin] + error(begin, end);
      if (sum >= least_[end]) continue;
      least_[end] = sum;
      best = begin;
    }
    begins[end] = static_cast<std::uint16_t>(best);
    if (end > ends.first_end) fill(begins, {ends.first_end, end - 1, ends.first_begin, best});
    if (end < ends.last_end) fill(begins, {end + 1, ends.last_end, best, ends.last_begin});
  }

  const Sums& sums_;
  std::vector<double> before_, least_;             // error of the bins below an end
  std::vector<std::vector<std::uint16_t>> begin_;  // of the last range, by level and end
};

/// Mantissa levels of a format, ascending, with the least square error for a distribution: the
/// global optimum of the conditions of Lloyd and Max (S. P. Lloyd, "Least squares quantization in
/// PCM", 1982). Zero is a level only of rectified values, half of which are zeros: elsewhere it
/// would cost a level, 2.2 dB of normal values at 2 bits. A pure function of format and
/// distribution.
std::vector<double> fitted_levels(const BlockFormat& format,
                                  const ValueDistribution& distribution) {
  const Sums sums = sums_of(format, draw_values(distribution, fitted_values, fitted_seed));
  const bool keeps_zero = distribution.rectified;
  return Division(sums, format.mantissas(), keeps_zero).levels(keeps_zero);
}

constexpr std::array parameters{
    block_parameter,
    bits_parameter,
    exponent_parameter,
    stride_parameter,
    Parameter{"tail_share", "fit: share of larger values", 0, 0, 1,
              /*whole=*/false},
    Parameter{"tail_factor", "fit: how many times larger these are", 30, 1, 1e6, /*whole=*/false},
    Parameter{"rectified", "fit: 1 for values after a ReLU", 0, 0, 1}};

/// Sender and receiver know the code book: it is neither sent nor stored.
BlockFormat format_of(const CodecNumbers& numbers) {
  BlockFormat format = shared_format(numbers);
  format.levels = fitted_levels(format, {.tail_share = numbers["tail_share"],
                                         .tail_factor = numbers["tail_factor"],
                                         .rectified = numbers.whole("rectified") != 0});
  return format;
}

}  // namespace

constinit extern const CodecEntry nonuniform_bfp_entry{
    .name = "nonuniform-bfp",
    .summary =
        "block floating point with mantissa levels from a code book, fitted to a distribution",
    .parameters = parameters,
    .block_bits = value_bits,
    .format = format_of,
    .encode = put_values,
    .decode = get_values,
};

}  // namespace penstock::nonuniform_bfp_file
