#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The largest memory that each rank held during a run, in bytes: counted from what its actions do
/// and from when its tensors came and went, not from the memory effects of the plan.
///
/// Held are: from F on the activation, until B or W ends, and what only B or I reads of it, until
/// that ends; what was made again, from R or the start of B or I on, until B or W ends, or from F
/// on if it is not made again; from I on what waits for W; temporary memory while an action runs; a
/// received activation from the start of its transfer until the F that reads it starts. An evicted
/// activation is away from the end of its way out to the start of its way back; the rank that keeps
/// it holds it from the start of the first to the end of the second. All else is held throughout.
std::vector<std::uint64_t> counted_memory_peaks(const Plan& plan, const Costs& costs,
                                                const Timeline& timeline);

}  // namespace penstock
