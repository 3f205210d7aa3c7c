#include "validate/calibration/term_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/random.hpp"

namespace penstock::testing {
namespace {

/// A number between 0 and 1 that depends on all three.
double term_model_drawn(std::uint64_t seed, std::uint32_t row, std::uint32_t what) {
  const auto bits = philox({row, what, 0, 0}, {static_cast<std::uint32_t>(seed), 1});
  return uniform(std::uint64_t{bits[0]} << 32 | bits[1]);
}

/// Products of matrices of log-spaced sizes that take c0 + c1 MNK, each with some noise in
/// proportion. The third term stands for what costs nothing.
std::vector<TermPoint> products(std::uint64_t seed, std::uint32_t count, double noise) {
  std::vector<TermPoint> points;
  for (std::uint32_t row = 0; row < count; ++row) {
    const auto size = [&](std::uint32_t side) {
      return std::exp2(4 + 5 * term_model_drawn(seed, row, side));
    };
    const double m = size(0), n = size(1), k = size(2);
    const double truth = 400 + 0.03 * m * n * k;
    const double factor = 1 + noise * normal_quantile(term_model_drawn(seed, row, 3));
    points.push_back({{1, m * n * k, m * n}, truth * factor, 1, row});
  }
  return points;
}

TermModel calibrated(const std::vector<TermPoint>& points, std::uint32_t draws = 200) {
  return calibrate_terms({"c0", "MNK", "MN"}, points, {.seed = 5, .draws = draws});
}

}  // namespace

TEST_CASE("terms: without noise they are recovered, and what costs nothing is dropped") {
  const TermModel model = calibrated(products(1, 30, 0));
  CHECK(model.coefficients[0] == doctest::Approx(400).epsilon(1e-8));
  CHECK(model.coefficients[1] == doctest::Approx(0.03).epsilon(1e-8));
  CHECK(model.coefficients[2] < 1e-6);
  CHECK(model.at({1, 1000, 10}) == doctest::Approx(430));
}

TEST_CASE("terms: with noise, a term whose interval reaches down to zero is dropped by name") {
  const TermModel model = calibrated(products(2, 40, 0.03));
  CHECK(model.dropped == std::vector<std::string>{"MN"});
  CHECK(model.coefficients[2] == 0);
  CHECK(model.intervals[2] == Interval{0, 0});
  CHECK(model.coefficients[0] == doctest::Approx(400).epsilon(0.05));
  CHECK(model.coefficients[1] == doctest::Approx(0.03).epsilon(0.05));
  for (const std::vector<double>& draw : model.draws) {
    for (const double coefficient : draw) CHECK(coefficient >= 0);
  }
}

TEST_CASE("terms: the last one stays, whatever its interval") {
  const std::vector<TermPoint> points{{{0}, 1, 1, 0}, {{0}, 2, 1, 1}};
  const TermModel model = calibrate_terms({"none"}, points, {.seed = 1, .draws = 20});
  CHECK(model.dropped.empty());
  CHECK(model.coefficients == std::vector<double>{0});
}

// Every tenth point took five times as long.
TEST_CASE("terms: one point in ten that is far off hardly moves the others") {
  std::vector<TermPoint> points = products(3, 60, 0.01);
  const std::vector<double> without = fit_terms(points);
  for (std::size_t i = 0; i < points.size(); i += 10) points[i].measured *= 5;
  const std::vector<double> with = fit_terms(points);
  CHECK(with[1] == doctest::Approx(without[1]).epsilon(0.02));
}

TEST_CASE("terms: a point that counts for nothing changes nothing") {
  std::vector<TermPoint> points = products(4, 30, 0.02);
  const std::vector<double> without = fit_terms(points);
  points.push_back({{1, 1e6, 1e3}, 1, 0, 30});
  const std::vector<double> with = fit_terms(points);
  // Huber's scale is a median, which one more point moves a little.
  CHECK(with[1] == doctest::Approx(without[1]).epsilon(0.01));
}

// 60 sets of 30 points with normal noise of 3 %. Intervals that hold 95 % of the draws should hold
// the truth nearly as often; bootstrap intervals of few points are somewhat narrow.
TEST_CASE("terms: intervals hold the truth about as often as they say") {
  int held = 0;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    std::vector<TermPoint> points = products(seed, 30, 0.03);
    for (TermPoint& point : points) point.terms.pop_back();
    const TermModel model = calibrate_terms({"c0", "MNK"}, points, {.seed = seed, .draws = 200});
    held += model.intervals[1].covers(0.03) ? 1 : 0;
  }
  CHECK(held >= 48);
}

TEST_CASE("terms: equal seeds draw equal numbers, others do not") {
  const auto points = products(6, 20, 0.05);
  const auto draws = [&](std::uint64_t seed) {
    return calibrate_terms({"c0", "MNK", "MN"}, points, {.seed = seed, .draws = 30}).draws;
  };
  CHECK(draws(1) == draws(1));
  CHECK(draws(1) != draws(2));
}

TEST_CASE("bootstrap: blocks are drawn as often as there are blocks, each equally often") {
  std::vector<std::uint32_t> all(7);
  for (std::uint32_t draw = 0; draw < 2000; ++draw) {
    const std::vector<std::uint32_t> times = drawn_blocks(9, draw, 7);
    CHECK(std::accumulate(times.begin(), times.end(), 0U) == 7);
    for (std::size_t i = 0; i < 7; ++i) all[i] += times[i];
  }
  // 2000 are expected, with a standard deviation of 41.
  for (const std::uint32_t times : all) CHECK(std::abs(static_cast<int>(times) - 2000) < 200);
}

TEST_CASE("bootstrap: a shuffle has every number once, and another order each round") {
  std::vector<std::uint32_t> first = shuffled(1, "points", 0, 50);
  const std::vector<std::uint32_t> second = shuffled(1, "points", 1, 50);
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  for (std::uint32_t i = 0; i < 50; ++i) CHECK(first[i] == i);
}

TEST_CASE("quantile: on a straight line between values") {
  CHECK(quantile({}, 0.5) == 0);
  CHECK(quantile({4, 0, 2}, 0) == 0);
  CHECK(quantile({4, 0, 2}, 1) == 4);
  CHECK(quantile({4, 0, 2}, 0.25) == 1);
  CHECK(middle_share({0, 16}, 0.75) == Interval{2, 14});
}

// Samples 8, 9, 10, 11, 14: their distances from the median 10 are 2, 1, 0, 1, 4.
TEST_CASE("spread: the median, and the median distance from it as a share of it") {
  const SampleSpread spread = spread_of({8, 14, 10, 9, 11});
  CHECK(spread.median == 10);
  CHECK(spread.deviation == doctest::Approx(0.1));
  CHECK(weight_of(spread) == 1);
  CHECK(weight_of({10, 0.2}) == doctest::Approx(0.25));
}

}  // namespace penstock::testing
