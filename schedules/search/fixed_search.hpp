#pragma once

#include "schedules/search/order_problem.hpp"
#include "schedules/search/order_search.hpp"

namespace penstock {

/// Searches for a short order of a problem that leaves no choice of forms: seeds, building blocks,
/// list scheduling by patterns of priorities and their neighbours, then local search from the best
/// few. Ends early where an order reaches the bound.
FoundOrder fixed_search(const OrderProblem& problem, const OrderSearchOptions& options);

}  // namespace penstock
