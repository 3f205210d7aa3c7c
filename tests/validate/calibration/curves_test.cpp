#include "validate/calibration/curves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "validate/statistics/bootstrap.hpp"

namespace penstock::testing {
namespace {

/// Points of random sizes and values that never fall, some of them level.
std::vector<CurvePoint> rising(std::uint32_t curve) {
  std::vector<CurvePoint> points;
  double size = 1, value = 10;
  for (std::uint32_t i = 0; i < 3 + curve % 9; ++i) {
    size *= 1.2 + 0.05 * drawn_number(1, "sizes", curve, i, 100);
    value *=
        1 + 0.05 * std::max(0, static_cast<int>(drawn_number(1, "values", curve, i, 100)) - 20);
    points.push_back({size, value});
  }
  return points;
}

/// Sizes 64, 128 … bytes and what a rule says they take.
template <class Rule>
std::vector<CurvePoint> messages(std::size_t count, Rule rule) {
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    const double bytes = std::ldexp(64, static_cast<int>(i));
    points.push_back({bytes, rule(bytes)});
  }
  return points;
}

}  // namespace

TEST_CASE("monotone curve: it passes through its points and never leaves the stretch between two") {
  for (std::uint32_t number = 0; number < 100; ++number) {
    CAPTURE(number);
    const std::vector<CurvePoint> points = rising(number);
    const MonotoneCurve curve(points);
    for (const CurvePoint& point : points) {
      CHECK(curve(point.size) == doctest::Approx(point.value).epsilon(1e-12));
    }
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      double before = points[i].value;
      for (int step = 1; step < 40; ++step) {
        const double at = points[i].size + (points[i + 1].size - points[i].size) * step / 40;
        const double value = curve(at);
        CHECK(value >= before * (1 - 1e-12));
        CHECK(value <= points[i + 1].value * (1 + 1e-12));
        before = value;
      }
    }
  }
}

// Two kibibytes take 3 us and four take 4: 2 us and half a nanosecond a byte. In front of 1 KiB the
// line through 1 us at 1 KiB and 3 us at 2 KiB would fall below zero: in proportion then.
TEST_CASE("monotone curve: beyond its points it is a latency and a bandwidth") {
  const MonotoneCurve curve({{1024, 1024}, {2048, 3072}, {4096, 4096}});
  CHECK(curve(8192) == doctest::Approx(4096 + 2048));
  CHECK(curve(512) == doctest::Approx(512));
  const MonotoneCurve with_latency({{1000, 600}, {2000, 700}});
  CHECK(with_latency(0) == doctest::Approx(500));
  CHECK(with_latency(4000) == doctest::Approx(900));
}

TEST_CASE("monotone curve: points that fall come to one level, equal sizes to their mean") {
  const MonotoneCurve curve({{1, 10}, {2, 40}, {4, 10}, {8, 100}});
  CHECK(curve(2) == doctest::Approx(20));
  CHECK(curve(3) == doctest::Approx(20));
  CHECK(curve(4) == doctest::Approx(20));
  CHECK(MonotoneCurve({{5, 10}, {5, 20}, {5, 30}})(5) == doctest::Approx(20));
  CHECK(MonotoneCurve({{5, 10}})(10) == doctest::Approx(20));
}

TEST_CASE("link pieces: one latency and one bandwidth are one piece") {
  const LinkPieces pieces = fit_link_pieces(messages(14, [](double n) { return 500 + n / 4; }));
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].latency_ns == doctest::Approx(500));
  CHECK(pieces[0].ns_per_byte == doctest::Approx(0.25));
}

// A protocol for less than 3 kB and one for more than 100 kB, as NCCL has three.
TEST_CASE("link pieces: two places where the constants change are found") {
  const auto rule = [](double n) {
    if (n < 3e3) return 1000 + n;
    return n < 1e5 ? 3000 + n / 3 : 20000 + n / 8;
  };
  const LinkPieces pieces = fit_link_pieces(messages(16, rule));
  REQUIRE(pieces.size() == 3);
  // Points lie at 2048 and 4096, and at 65536 and 131072 bytes.
  CHECK(pieces[1].from_bytes == doctest::Approx(std::sqrt(2048.0 * 4096)));
  CHECK(pieces[2].from_bytes == doctest::Approx(std::sqrt(65536.0 * 131072)));
  for (const double bytes : {100.0, 1e4, 1e6}) {
    CHECK(at(pieces, bytes) == doctest::Approx(rule(bytes)));
  }
}

TEST_CASE("link pieces: a few points are one piece") {
  CHECK(fit_link_pieces(messages(5, [](double n) { return n < 200 ? 10 : n; })).size() == 1);
  CHECK(fit_link_pieces(messages(1, [](double n) { return n; })).size() == 1);
}

}  // namespace penstock::testing
