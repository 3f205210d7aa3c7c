#pragma once

#include <string>

#include "experiments/input/formats/orders/torch_version.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// How an order is lowered.
struct Lowering {
  TorchVersion version = newest_torch;
  bool fsdp = false;  // with UNSHARD and RESHARD, as PyTorch always lowers
};

/// An order in PyTorch's notation with communication, lowered as the runtime of that version lowers
/// it: REDUCE_GRAD, sends and receives, and waits, where the version has them. Without REDUCE_GRAD
/// its runtime would not divide gradients by the number of microbatches. Each SEND follows the cell
/// that computes its tensor; each RECV is where the sweep over ranks put it. Throws RuleError for
/// an order that deadlocks, and for actions that the notation cannot express (use `torch_order`
/// first).
std::string write_torch_comms(const Schedule& schedule, const Placement& placement,
                              const Lowering& lowering);

}  // namespace penstock
