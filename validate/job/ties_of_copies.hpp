#pragma once

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// A plan in which the update of an end of a tied model waits for the gradients of all copies of
/// the other end, so that it can step with their sum. Plans list those of its partner alone. From
/// each copy comes one transfer; a copy on the rank of the update needs none.
PricedPlan with_ties_of_copies(PricedPlan priced);

}  // namespace penstock
