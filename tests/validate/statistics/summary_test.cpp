#include "validate/statistics/summary.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <utility>

namespace penstock::testing {
namespace {

std::vector<TwoMoments> moments(const std::vector<std::pair<int, int>>& numbers) {
  std::vector<TwoMoments> all;
  for (const auto& [a, b] : numbers) all.push_back({{a}, {b}});
  return all;
}

int sign(Time difference) { return (difference > Time{}) - (difference < Time{}); }

/// Tau-b by its definition: every pair looked at.
std::optional<double> by_definition(const std::vector<TwoMoments>& moments) {
  double sum = 0, untied_a = 0, untied_b = 0;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int a = sign(moments[i].a - moments[j].a);
      const int b = sign(moments[i].b - moments[j].b);
      sum += a * b;
      untied_a += a * a;
      untied_b += b * b;
    }
  }
  if (untied_a == 0 || untied_b == 0) return std::nullopt;
  return sum / std::sqrt(untied_a * untied_b);
}

}  // namespace

TEST_CASE("median: the middle of an odd number, between the middle two of an even one") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("median: its interval lies between values whose ranks a coin toss would hardly leave") {
  // Of 100 values 1, 2, … the number below the median is 50 ± 9.8 at 95 %: ranks 40 to 61.
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  CHECK(median_interval(values).low == 40);
  CHECK(median_interval(values).high == 61);
  CHECK(median_interval({3, 1, 2}).low == 1);
  CHECK(median_interval({3, 1, 2}).high == 3);
  CHECK(median_interval({}).high == 0);
}

TEST_CASE("trimmed mean: an eighth of the values at each end does not count") {
  CHECK(trimmed_mean({1, 2, 3}) == 2);
  CHECK(trimmed_mean({100, 4, 3, 5, 4, 4, 4, -50}) == 4);
  CHECK(trimmed_mean({}) == 0);
}

TEST_CASE("rank correlation is 1 for one order, -1 for the opposite, and between for others") {
  CHECK(rank_correlation(moments({{1, 10}, {2, 20}, {3, 90}})) == 1.0);
  CHECK(rank_correlation(moments({{1, 90}, {2, 20}, {3, 10}})) == -1.0);
  // Of three pairs, (2, 3) alone is turned round: (2 - 1) / 3.
  CHECK(rank_correlation(moments({{1, 1}, {2, 3}, {3, 2}})).value() == doctest::Approx(1.0 / 3));
}

TEST_CASE("rank correlation does not exist where all of one side is at one moment") {
  CHECK(!rank_correlation({}));
  CHECK(!rank_correlation(moments({{1, 1}})));
  CHECK(!rank_correlation(moments({{1, 1}, {1, 2}, {1, 3}})));
}

TEST_CASE("rank correlation is what its definition gives, ties or not") {
  CHECK(rc::check([] {
    std::vector<TwoMoments> drawn;
    const auto count = *rc::gen::inRange<std::size_t>(0, 40);
    for (std::size_t i = 0; i < count; ++i) {
      drawn.push_back({{*rc::gen::inRange(0, 12)}, {*rc::gen::inRange(0, 12)}});
    }
    const auto expected = by_definition(drawn);
    const auto found = rank_correlation(drawn);
    RC_ASSERT(found.has_value() == expected.has_value());
    if (found) RC_ASSERT(std::abs(*found - *expected) < 1e-12);
  }));
}

}  // namespace penstock::testing
