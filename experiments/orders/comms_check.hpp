#pragma once

#include <optional>

#include "experiments/formats/torch_csv.hpp"
#include "experiments/orders/cell_fault.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The first fault in the communication of an order whose actions are without fault: a cell in the
/// wrong row, sent before it is made, read before it is received, sent without being received or
/// the other way round, done twice; weights used while they are not gathered, gradients reduced too
/// early; then receives in an order in which the ranks wait for each other for ever.
std::optional<CellFault> find_comms_fault(const OrderFile& order, const Placement& placement);

}  // namespace penstock
