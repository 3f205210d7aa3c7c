#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "hardware_models/spec/hardware_spec.hpp"

namespace penstock::testing {
namespace {

/// A layer whose forward pass takes so long on so many examples.
ProfileEntry measured(const std::vector<std::pair<double, double>>& times) {
  ProfileEntry entry;
  for (const auto& time : times) {
    const ProfilePoint point{.examples = time.first, .forward_us = time.second};
    entry.points.push_back(point);
  }
  return entry;
}

double forward_us(const ProfileEntry& entry, double examples) {
  return at(entry, examples).forward_us.value();
}

}  // namespace

TEST_CASE("profile: at a point it gives what was measured, between two the line through them") {
  const ProfileEntry entry = measured({{8, 20}, {16, 36}, {32, 60}});
  CHECK(forward_us(entry, 8) == 20);
  CHECK(forward_us(entry, 16) == 36);
  CHECK(forward_us(entry, 32) == 60);
  CHECK(forward_us(entry, 12) == 28);
  CHECK(forward_us(entry, 24) == 48);
  CHECK(at(entry, 24).examples == 24);
}

TEST_CASE("profile: beyond its points the line goes on") {
  // 2 us an example and 4 us more; at the end 1.5 us an example.
  const ProfileEntry entry = measured({{8, 20}, {16, 36}, {32, 60}});
  CHECK(forward_us(entry, 4) == 12);
  CHECK(forward_us(entry, 64) == 108);
}

TEST_CASE("profile: a single point scales") {
  CHECK(forward_us(measured({{8, 20}}), 2) == 5);
  CHECK(forward_us(measured({{8, 20}}), 16) == 40);
}

TEST_CASE("profile: in front of the first point it takes at least its share") {
  // The line through (8, 20) and (16, 60) would be at 0 for 4 examples; half of 8 take half of 20.
  CHECK(forward_us(measured({{8, 20}, {16, 60}}), 4) == 10);
}

TEST_CASE("profile: times that fell at an end stay there beyond it") {
  CHECK(forward_us(measured({{8, 40}, {16, 20}}), 64) == 20);
  CHECK(forward_us(measured({{8, 40}, {16, 20}}), 12) == 30);
  CHECK(forward_us(measured({{8, 40}, {16, 20}}), 4) == 40);
}

TEST_CASE("profile: what a neighbouring point lacks is absent") {
  ProfileEntry entry = measured({{8, 20}, {16, 36}, {32, 60}});
  entry.points[0].backward_us = 50;
  entry.points[1].backward_us = 90;
  CHECK(at(entry, 12).backward_us == 70);
  CHECK(!at(entry, 24).backward_us);
  CHECK(!at(entry, 12).stash_bytes);
  CHECK(!at(ProfileEntry{}, 12).forward_us);
}

TEST_CASE("profile: two points of as many examples give no nonsense") {
  CHECK(forward_us(measured({{8, 20}, {8, 30}}), 4) == 20);
  CHECK(forward_us(measured({{8, 20}, {8, 30}}), 16) == 20);
  CHECK(forward_us(measured({{8, 20}, {16, 36}, {16, 40}}), 12) == 28);
}

TEST_CASE(
    "profile: where measured times rise, more examples never take less, and none take nothing") {
  CHECK(rc::check([] {
    const auto steps = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(1, 100), rc::gen::inRange(0, 1000))));
    std::vector<std::pair<double, double>> times;
    std::pair<double, double> last{0, 1};
    for (const auto& step : steps) {
      last = {last.first + step.first, last.second + step.second};
      times.push_back(last);
    }
    const ProfileEntry entry = measured(times);
    const double most = 2 * last.first;
    double before = 0;
    for (int i = 1; i <= 200; ++i) {
      const double now = forward_us(entry, most * i / 200);
      RC_ASSERT(now > 0);
      RC_ASSERT(now >= before * (1 - 1e-12));
      before = now;
    }
  }));
}

}  // namespace penstock::testing
