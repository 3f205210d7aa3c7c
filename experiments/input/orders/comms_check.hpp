#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The first communication fault of an order whose actions are valid: a cell in the wrong row, a
/// send before its tensor is computed, a read before its receive, a send or receive that is
/// unmatched or duplicated, weights used while not gathered, gradients reduced too early, and
/// receives that deadlock. If any stage has a REDUCE_GRAD, all need one; if any cell is a wait,
/// every SEND and REDUCE_GRAD needs one. Where all cells are EXCHANGEs, other tensors need none.
std::optional<CellFault> find_comms_fault(const OrderFile& order, const Placement& placement);
/// The same but for deadlocks, which depend on the streams that run it.
std::optional<CellFault> find_comms_fault_in_rows(const OrderFile& order,
                                                  const Placement& placement);

/// Throws the communication fault of a lowered order as an OrderError. Compute-only orders have
/// none.
void require_sound_comms(const OrderFile& order, const Placement& placement,
                         Communicating communication);

/// What is left out where an order is timed: its communication but for exchanges; empty for none.
std::string untimed_comms_note(const OrderFile& order);

}  // namespace penstock
