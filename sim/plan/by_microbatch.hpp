#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A class of a plan in which microbatches differ: that of the plain plan, and the microbatch.
struct MicrobatchClass {
  std::uint32_t plain = 0;
  std::optional<Microbatch> microbatch;  // empty: work of an iteration, which all share
  std::optional<Microbatch> partner;     // of the other part of a fused cell
};

/// A plan whose microbatches may have different costs: each has its own work classes and buffer
/// classes. The tail of an iteration and what is held for the whole run stay as they are.
struct MicrobatchPlan {
  Plan plan;
  std::vector<MicrobatchClass> classes, buffers;  // of `plan`
  Plan plain;  // without its tasks, to price its classes; parts of fused cells are apart
};

/// The same tasks in the same order as those of `plain`.
MicrobatchPlan by_microbatch(const Plan& plain);

}  // namespace penstock
