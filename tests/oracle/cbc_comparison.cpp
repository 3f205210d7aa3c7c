#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "schedules/search/exhaustive.hpp"
#include "schedules/search/order_problem.hpp"
#include "tests/oracle/integer_program.hpp"

// Branch and bound against CBC, which is given the same problem as an integer program and knows
// nothing of the search.

namespace penstock::testing {
namespace {

constexpr SearchTime us = 1'000'000;

/// A small problem; an activation takes a byte or two.
OrderProblem drawn_problem(std::uint32_t seed, std::uint32_t most_per_rank) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  OrderProblem problem;
  const std::uint32_t ranks = 2 + below(2), chunks = 1 + below(2);
  problem.microbatches =
      std::max(1U, std::min(2 + below(3), most_per_rank / (SearchPass::count * chunks)));
  problem.capacity.assign(ranks, 2 * chunks + below(3));
  for (std::uint32_t s = 0; s < ranks * chunks; ++s) {
    const std::uint32_t round = s / ranks, at = s % ranks;
    OrderStage stage{.rank = round % 2 == 0 ? at : ranks - 1 - at};  // a V
    for (SearchTime& time : stage.duration) time = (1 + below(5)) * us;
    const bool turn = (s + 1) % ranks == 0;
    stage.to_after = turn ? 0 : below(3) * us;
    stage.to_before = s % ranks == 0 ? 0 : below(3) * us;
    const std::int64_t bytes = 1 + below(2), left = below(2);
    stage.during = {bytes, 0, 0};
    stage.change = {bytes, -left * (bytes - 1), -bytes + left * (bytes - 1)};
    problem.stages.push_back(stage);
  }
  return problem;
}

void check_against_cbc(const OrderProblem& problem, bool ascending) {
  const auto shortest = shortest_by_integer_program(problem, ascending);
  const ExhaustiveResult found = branch_and_bound(problem, {});
  REQUIRE(found.complete);
  REQUIRE(shortest.has_value() == found.better.has_value());
  if (!shortest) return;
  CHECK(found.makespan == *shortest);
  CHECK(shortest_possible(problem) <= *shortest);
}

}  // namespace

TEST_CASE("branch and bound proves the makespan that CBC proves, microbatches in any sequence") {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    check_against_cbc(drawn_problem(seed, 6), false);
  }
}

TEST_CASE("branch and bound proves the makespan that CBC proves, up to 12 passes a rank") {
  for (std::uint32_t seed = 100; seed < 106; ++seed) {
    CAPTURE(seed);
    check_against_cbc(drawn_problem(seed, 12), true);
  }
}

TEST_SUITE("exhaustive") {
  TEST_CASE("branch and bound proves the makespan that CBC proves, in drawn problems") {
    for (std::uint32_t seed = 1000; seed < 1100; ++seed) {
      CAPTURE(seed);
      check_against_cbc(drawn_problem(seed, 14), seed % 2 == 0);
    }
  }
}

}  // namespace penstock::testing
