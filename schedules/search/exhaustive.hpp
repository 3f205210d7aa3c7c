#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "schedules/search/order_problem.hpp"

namespace penstock {

struct ExhaustiveOptions {
  SearchTime below = never;          // only shorter orders are looked for
  std::uint64_t nodes = UINT64_MAX;  // stops without proof after so many steps
  std::function<bool()> go_on = {};  // asked now and then; false stops without proof
  /// The makespan of an order as it really runs, not below that of the problem; `never` if it does
  /// not fit. Nothing: that of the problem.
  std::function<SearchTime(const SearchedOrder&)> judge = {};
};

/// What branch and bound found.
struct ExhaustiveResult {
  bool complete = false;                // every order was looked at or excluded by a bound
  std::optional<SearchedOrder> better;  // the shortest order below the given makespan
  SearchTime makespan = never;
};

/// So many nodes count as an evaluation of an order: between two calls of `go_on`.
constexpr std::uint64_t nodes_of_evaluation = 64;

/// Branch and bound over all orders that start every pass as early as their sequences allow, pass
/// by pass in the order of starts, with each backward in every form that its stage allows. Excludes
/// what NodeBound says cannot get below the best, and, without a judge, what SeenOrders says is
/// needless. The problem leaves no choice of what is recomputed.
ExhaustiveResult branch_and_bound(const OrderProblem& problem, const ExhaustiveOptions& options);

}  // namespace penstock
