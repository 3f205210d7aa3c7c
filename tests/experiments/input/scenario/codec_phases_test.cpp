#include <doctest/doctest.h>

#include <numeric>

#include "experiments/input/scenario/codec_choice.hpp"

namespace penstock::testing {
namespace {

using Served = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("codec phases: a format stays as long as the metric gets better") {
  const Plateau falling{.values = {5, 4, 3, 2, 1}, .every = 10};
  CHECK(iterations_by_format(falling, 100, 3) == Served{100, 0, 0});
  CHECK(iterations_by_format({.values = {}, .every = 10}, 100, 2) == Served{100, 0});
}

TEST_CASE("codec phases: after so many evaluations in a row without improvement the next begins") {
  // 4 after 20 iterations is the best; 4 and 4.5 after 30 and 40 are no better: two in a row, so
  // the second format begins at 40. There 4 and 4.1 are no better than the 4 of before: 60.
  const Plateau still{.values = {5, 4, 4, 4.5, 4, 4.1}, .every = 10, .patience = 2};
  CHECK(iterations_by_format(still, 100, 3) == Served{40, 20, 40});
  // With one evaluation it is at 30, 40 and so on; there are no more than three formats.
  const Plateau hasty{.values = {5, 4, 4, 4.5, 4, 4.1}, .every = 10, .patience = 1};
  CHECK(iterations_by_format(hasty, 100, 3) == Served{30, 10, 60});
}

TEST_CASE("codec phases: an improvement begins the count anew") {
  // No better at 30; better at 40; no better at 50 and 60.
  const Plateau plateau{.values = {5, 4, 4, 3, 3, 3}, .every = 10, .patience = 2};
  CHECK(iterations_by_format(plateau, 60, 2) == Served{60, 0});
  CHECK(iterations_by_format(plateau, 70, 2) == Served{60, 10});
}

TEST_CASE("codec phases: an improvement that is no larger than the least is none") {
  // Against the best: 4.5 is better than 5 by 0.5, no more; 4.25 by 0.75.
  const Plateau slow{.values = {5, 4.5, 4.25}, .every = 1, .least_improvement = 0.5};
  CHECK(iterations_by_format(slow, 10, 3) == Served{2, 8, 0});
}

TEST_CASE("codec phases: of an accuracy higher values are better") {
  const Plateau accuracy{.values = {0.5, 0.6, 0.6}, .every = 5, .better = Better::higher};
  CHECK(iterations_by_format(accuracy, 20, 2) == Served{15, 5});
}

TEST_CASE("codec phases: whatever the metric, every iteration is served once") {
  const Plateau constant{.values = std::vector<double>(50, 1.0), .every = 3, .patience = 4};
  for (const std::size_t formats : {1u, 2u, 5u, 64u}) {
    CAPTURE(formats);
    const Served served = iterations_by_format(constant, 157, formats);
    CHECK(served.size() == formats);
    CHECK(std::accumulate(served.begin(), served.end(), std::uint64_t{0}) == 157);
  }
}

}  // namespace penstock::testing
