#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// What branch and bound found.
struct ExhaustiveResult {
  bool complete = false;                // every order was looked at or excluded by a bound
  std::optional<RankSequences> better;  // the shortest order below the given makespan
  SearchTime makespan = never;
};

/// Branch and bound over all orders that start every pass as early as their sequences allow, pass
/// by pass in the order of starts. Excludes what cannot get below `below`: a rank's remaining work
/// and the shortest way of each microbatch to the end. Stops without proof after `nodes` steps or
/// when `go_on`, if any, returns false.
ExhaustiveResult branch_and_bound(const OrderProblem& problem, SearchTime below,
                                  std::uint64_t nodes, const std::function<bool()>& go_on = {});

}  // namespace penstock
