#pragma once

#include <string>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order with its communication, in PyTorch's notation, lowered as PyTorch does it. A SEND
/// follows each action whose output another rank reads, and the RECV is appended to that rank's row
/// at this point. `fsdp` adds UNSHARD, RESHARD and REDUCE_GRAD. Throws RuleError for an order that
/// deadlocks or has actions that the notation cannot express.
std::string write_torch_comms(const Schedule& schedule, const Placement& placement, bool fsdp);

}  // namespace penstock
