#include "validate/statistics/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

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
