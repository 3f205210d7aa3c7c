#pragma once

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Makes sure of everything that `lower` guarantees and that code takes for granted: indices are in
/// range, inputs come before their readers, the parts of a fused cell follow each other. For a plan
/// that comes from outside; throws InputError that names the entry at fault.
void check_plan(const Plan& plan);

/// The same for a timeline of a sound plan: one span a task, no time before the start or beyond the
/// clock, last inputs that are inputs, memory samples in order.
void check_timeline(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
