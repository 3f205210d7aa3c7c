#pragma once

#include <optional>
#include <string>

#include "validate/backends/nccl/comm_plan.hpp"

namespace penstock {

/// Runs the calls of all ranks with NCCL's rules: a group starts when all that its rank issued
/// before it has ended, as where streams share a hardware queue, and ends when all its partners
/// have started; sends and receives match by peer and order, collectives by order. Nothing when
/// everything ends; else who waits for what, or the first two calls that match and do not fit.
std::optional<std::string> why_it_hangs(const CommPlan& comms, const Plan& plan);

}  // namespace penstock
