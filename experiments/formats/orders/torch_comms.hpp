#pragma once

#include <string>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order with its communication, as PyTorch lowers it, in PyTorch's notation: a SEND behind each
/// action whose output another rank reads, and the RECV at the end of that rank's row so far. With
/// `fsdp` also UNSHARD, RESHARD and REDUCE_GRAD. Throws RuleError for an order that deadlocks or
/// has actions that the notation cannot carry.
std::string write_torch_comms(const Schedule& schedule, const Placement& placement, bool fsdp);

}  // namespace penstock
