#include "experiments/plan/planner/known_layouts.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/support/draws.hpp"

namespace penstock::testing {
namespace {

constexpr double no_time = std::numeric_limits<double>::infinity();

LayoutFamily tensor_family(std::uint32_t tensor) {
  return {.degrees = {tensor}, .schedule = "1f1b"};
}

TEST_CASE("known layouts: a family has its shortest time, and its place by that") {
  FamilyTimes times;
  CHECK(times.of(tensor_family(1)) == no_time);
  CHECK(times.at(1) == no_time);
  times.add(tensor_family(1), 30);
  times.add(tensor_family(2), 20);
  CHECK(times.at(1) == 20);
  CHECK(times.at(2) == 30);
  times.add(tensor_family(1), 10);
  times.add(tensor_family(2), 25);  // longer than what is known
  CHECK(times.of(tensor_family(1)) == 10);
  CHECK(times.of(tensor_family(2)) == 20);
  CHECK(times.at(1) == 10);
  CHECK(times.at(2) == 20);
  CHECK(times.at(3) == no_time);
}

TEST_CASE("known layouts: stack and schedule tell families apart") {
  FamilyTimes times;
  LayoutFamily other = tensor_family(1);
  times.add(other, 3);
  other.sharded = true;
  times.add(other, 2);
  other.schedule = "zb-v";
  times.add(other, 1);
  CHECK(times.of(tensor_family(1)) == 3);
  CHECK(times.at(3) == 3);
}

TEST_CASE("known layouts: family times are those of a plain list") {
  CHECK(rc::check([] {
    FamilyTimes times;
    std::vector<double> shortest(5, no_time);
    for (std::uint32_t i = 0; i < 30; ++i) {
      const std::uint32_t of = below(5);
      const double us = from_to(1, 9);
      times.add(tensor_family(of), us);
      shortest[of] = std::min(shortest[of], us);
      std::vector<double> sorted = shortest;
      std::ranges::sort(sorted);
      for (std::uint32_t k = 0; k < 5; ++k) {
        RC_ASSERT(times.of(tensor_family(k)) == shortest[k]);
        RC_ASSERT(times.at(k + 1) == sorted[k]);
      }
    }
  }));
}

TEST_CASE("known layouts: the front covers what is neither faster nor smaller") {
  PlanFront front;
  CHECK_FALSE(front.covers(1e9, 1e18));
  front.add(10, 5);
  CHECK(front.covers(10, 5));
  CHECK(front.covers(11, 6));
  CHECK_FALSE(front.covers(9, 6));
  CHECK_FALSE(front.covers(11, 4));
  front.add(20, 3);
  CHECK(front.covers(20, 3));
  CHECK_FALSE(front.covers(19, 4));
  front.add(8, 2);  // faster and smaller than both
  CHECK_FALSE(front.covers(7, 9));
  CHECK(front.covers(8, 2));
}

TEST_CASE("known layouts: the front covers what one of all layouts covers") {
  CHECK(rc::check([] {
    PlanFront front;
    std::vector<std::pair<double, std::uint64_t>> all;
    for (std::uint32_t i = 0; i < 25; ++i) {
      all.emplace_back(from_to(1, 9), from_to(1, 9));
      front.add(all.back().first, all.back().second);
      for (std::uint32_t us = 0; us <= 10; ++us) {
        for (std::uint32_t bytes = 0; bytes <= 10; ++bytes) {
          const bool covered = std::ranges::any_of(
              all, [&](const auto& one) { return one.first <= us && one.second <= bytes; });
          RC_ASSERT(front.covers(us, bytes) == covered);
        }
      }
    }
  }));
}

}  // namespace
}  // namespace penstock::testing
