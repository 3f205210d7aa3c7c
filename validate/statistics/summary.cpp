#include "validate/statistics/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint64_t pairs_of(std::uint64_t count) {
  return count == 0 ? 0 : count * (count - 1) / 2;
}

/// Pairs of equal values in a sorted range.
template <class Equal>
std::uint64_t tied_pairs(const std::vector<TwoMoments>& sorted, Equal equal) {
  std::uint64_t tied = 0, run = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    run = i > 0 && equal(sorted[i - 1], sorted[i]) ? run + 1 : 1;
    tied += run - 1;
  }
  return tied;
}

/// Sorts by the second moment and returns the number of inversions.
std::uint64_t sort_counting_swaps(std::vector<TwoMoments>& moments) {
  std::uint64_t swaps = 0;
  std::vector<TwoMoments> merged(moments.size());
  for (std::size_t width = 1; width < moments.size(); width *= 2) {
    for (std::size_t from = 0; from < moments.size(); from += 2 * width) {
      const std::size_t middle = std::min(from + width, moments.size());
      const std::size_t to = std::min(middle + width, moments.size());
      std::size_t left = from, right = middle;
      for (std::size_t at = from; at < to; ++at) {
        const bool take_right =
            right < to && (left == middle || moments[right].b < moments[left].b);
        if (take_right) swaps += middle - left;
        merged[at] = moments[take_right ? right++ : left++];
      }
    }
    moments.swap(merged);
  }
  return swaps;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

SampleSpread spread_of(const std::vector<double>& samples) {
  const double middle = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - middle));
  return {middle, middle > 0 ? median(std::move(deviations)) / middle : 0};
}

// Values below the median are binomial with one half: its quantile in the normal approximation.
Interval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double rank = std::floor((count - 1.96 * std::sqrt(count)) / 2);  // from 1
  const auto first = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return {values[first], values[values.size() - 1 - first]};
}

double trimmed_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t off = values.size() / 8;
  std::sort(values.begin(), values.end());
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(off);
  const auto last = values.end() - static_cast<std::ptrdiff_t>(off);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

ErrorSummary summarize_errors(const std::vector<double>& errors) {
  ErrorSummary summary;
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.mean += sizes.back();
    summary.bias += error;
    summary.most = std::max(summary.most, sizes.back());
  }
  summary.count = static_cast<std::uint32_t>(errors.size());
  summary.mean /= summary.count;
  summary.bias /= summary.count;
  summary.median = median(std::move(sizes));
  return summary;
}

std::optional<double> rank_correlation(std::vector<TwoMoments> moments) {
  std::sort(moments.begin(), moments.end(), [](const TwoMoments& one, const TwoMoments& other) {
    return std::tie(one.a, one.b) < std::tie(other.a, other.b);
  });
  const auto same_a = [](const TwoMoments& one, const TwoMoments& other) {
    return one.a == other.a;
  };
  const auto same_b = [](const TwoMoments& one, const TwoMoments& other) {
    return one.b == other.b;
  };
  const std::uint64_t all = pairs_of(moments.size());
  const std::uint64_t tied_a = tied_pairs(moments, same_a);
  const std::uint64_t tied_both =
      tied_pairs(moments, [&](const TwoMoments& one, const TwoMoments& other) {
        return same_a(one, other) && same_b(one, other);
      });
  const std::uint64_t opposite = sort_counting_swaps(moments);
  const std::uint64_t tied_b = tied_pairs(moments, same_b);
  if (tied_a == all || tied_b == all) return std::nullopt;
  const std::uint64_t alike = all - tied_a - tied_b + tied_both - opposite;
  const double scale =
      std::sqrt(static_cast<double>(all - tied_a)) * std::sqrt(static_cast<double>(all - tied_b));
  // A product of two equal square roots may differ from the number.
  if (tied_a == tied_b) {
    return (static_cast<double>(alike) - static_cast<double>(opposite)) /
           static_cast<double>(all - tied_a);
  }
  return (static_cast<double>(alike) - static_cast<double>(opposite)) / scale;
}

}  // namespace penstock
