#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "schedules/search/order_problem.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a search of orders for a layout starts from.
struct SearchProblem {
  OrderProblem orders;
  SearchTime bound = 0;  // no order of the layout is shorter; 0: unknown
  bool exact = true;     // a proof for `orders` holds for the layout
};

/// A layout as a problem for a search of orders: times and bytes from its prices, and the memory
/// that each rank has besides what it holds throughout. A backward is split where its parts have
/// prices, and also a choice as a whole where that takes less time or memory. Transfers are delays
/// without contention; reductions of gradients follow the last pass of their stage, without
/// contention too. Launches and received activations are left out: the engine judges the result.
/// With `chooses`, which activations are recomputed of those that the layout recomputes is left to
/// the search. Throws InputError without a file's name in front where a price is missing.
SearchProblem search_problem(const Layout& layout, bool chooses = false);

/// Whether microbatches take different times or keep different activations. Each pass of an order
/// runs them in ascending order all the same, though another may be shorter.
bool microbatches_differ(const Layout& layout);

/// The passes of an order by rank, as a search sees them; nothing for an order that moves
/// activations.
std::optional<SearchedOrder> searched_order_of(const Schedule& order, const Layout& layout,
                                               const OrderProblem& problem);

/// The order of some sequences in some forms.
Schedule schedule_of(const SearchedOrder& order, const Layout& layout, const OrderProblem& problem);

/// The mode that lists of microbatches go with.
std::optional<RecomputeMode> mode_with_choice(std::optional<RecomputeMode> mode);

/// By stage of the order: the microbatches that are recomputed, as a layout lists them.
std::vector<std::vector<std::uint32_t>> microbatches_of(const ActivationForms& forms,
                                                        const Layout& layout);

}  // namespace penstock
