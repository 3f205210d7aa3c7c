#pragma once

#include <vector>

#include "sim/report/memory.hpp"

namespace penstock {

/// What each sample that `memory_peaks` gives of a run holds by kind, in the same order.
std::vector<BytesByKind> memory_kinds(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline);

}  // namespace penstock
