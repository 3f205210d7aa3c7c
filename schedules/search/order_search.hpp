#pragma once

#include "schedules/search/fixed_search.hpp"
#include "schedules/search/order_problem.hpp"

namespace penstock {

/// Searches for a short order that fits the memory, and for the forms of its activations. Orders
/// come from branch and bound, where the problem is small, and from fixed_search with one form for
/// all; each recomputes what makes it fit, and runs as a whole B what gets it shorter. Local search
/// then changes order and forms. Ends early with a proof, and not before the budget without one.
FoundOrder search_order(const OrderProblem& problem, const OrderSearchOptions& options);

}  // namespace penstock
