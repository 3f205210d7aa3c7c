#pragma once

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Checks everything that `lower` guarantees: indices are in range, inputs precede their readers,
/// the parts of a fused cell are adjacent. For plans from outside; throws InputError naming the
/// entry at fault.
void check_plan(const Plan& plan);

/// The same for a timeline of a valid plan: one span per task, times within the clock, last inputs
/// among the inputs, memory samples in order.
void check_timeline(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
