#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// Whether a search may choose for any stage.
bool chooses_recomputation(const OrderProblem& problem);

/// The problem in which nothing is recomputed, and in which everything is that can be.
OrderProblem with_nothing_recomputed(OrderProblem problem);
OrderProblem with_all_recomputed(OrderProblem problem);
/// With the times of the first and the memory of whichever needs less: a bound for it holds for
/// every choice.
OrderProblem with_least_of_both(OrderProblem problem);

/// Everything that can be recomputed.
Recomputed all_recomputed(const OrderProblem& problem);

/// A pass that needs more memory than its rank has left.
struct Overflow {
  std::uint32_t place = 0;           // in the rank's sequence
  std::vector<std::size_t> sparing;  // activations that would save memory here if recomputed
};

/// The first pass of a rank without room; nothing if its sequence fits.
std::optional<Overflow> first_overflow(const OrderProblem& problem, std::uint32_t rank,
                                       std::span<const CellClass> sequence,
                                       const Recomputed& recomputed);

/// Recomputes what makes a rank's sequence fit: where it does not, the activation that is needed
/// last. False if that is not enough.
bool recompute_to_fit(const OrderProblem& problem, std::uint32_t rank,
                      std::span<const CellClass> sequence, Recomputed& recomputed);

/// Keeps, one after the other, every activation for which there is room.
void keep_what_fits(const OrderProblem& problem, SearchedOrder& order);

}  // namespace penstock
