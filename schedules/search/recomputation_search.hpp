#pragma once

#include "schedules/search/order_problem.hpp"
#include "schedules/search/order_search.hpp"

namespace penstock {

/// Searches for an order and for the activations that it recomputes. Orders come from searches in
/// which nothing, everything, or nothing but without a limit of memory is recomputed; each
/// recomputes what makes it fit. Local search then changes both. Where the problem leaves no
/// choice, the same as search_order.
FoundOrder search_with_recomputation(const OrderProblem& problem,
                                     const OrderSearchOptions& options);

}  // namespace penstock
