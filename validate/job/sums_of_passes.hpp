#pragma once

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// A plan in which gradients that passes sum (as with ZeRO-3) go to the data replicas in transfers
/// of no time, so that updates that really run have them: from the last weight gradient of a stage
/// on a rank to the updates of all its copies. Times stay as they are. Unchanged if the plan
/// updates nothing, or lists its sums already.
PricedPlan with_sums_of_passes(PricedPlan priced);

}  // namespace penstock
