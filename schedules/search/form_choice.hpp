#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// Whether a search may choose what is recomputed, and what runs as a whole B, of any stage.
bool chooses_recomputation(const OrderProblem& problem);
bool chooses_whole(const OrderProblem& problem);

/// The problem without a choice: every activation has the flags of a form that its stage allows.
OrderProblem with_form(OrderProblem problem, ActivationForm form);
/// The problem in which everything is recomputed that can be; whole backwards are still a choice.
OrderProblem with_all_recomputed(OrderProblem problem);
/// Without a choice, with the least times and memory of any form: a bound for it holds for every
/// choice. What a whole B saves of I and W is taken off W.
OrderProblem with_least_costs(OrderProblem problem);

/// Every activation with the flags of a form that its stage allows.
ActivationForms all_in_form(const OrderProblem& problem, ActivationForm form);

/// A pass that needs more memory than its rank has left.
struct Overflow {
  std::uint32_t place = 0;           // in the rank's sequence
  std::vector<std::size_t> sparing;  // activations that would save memory here if recomputed
};

/// The first pass of a rank without room; nothing if its sequence fits.
std::optional<Overflow> first_overflow(const OrderProblem& problem, std::uint32_t rank,
                                       std::span<const CellClass> sequence,
                                       const ActivationForms& forms);

/// Recomputes what makes a rank's sequence fit: where it does not, the activation that is needed
/// last. False if that is not enough.
bool recompute_to_fit(const OrderProblem& problem, std::uint32_t rank,
                      std::span<const CellClass> sequence, ActivationForms& forms);

/// Keeps, one after the other, every activation for which there is room.
void keep_what_fits(const OrderProblem& problem, SearchedOrder& order);

}  // namespace penstock
