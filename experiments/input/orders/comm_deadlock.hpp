#pragma once

#include <optional>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The SEND of a tensor, and its RECV.
CommCell send_of(const Crossing& tensor);
CommCell receive_of(const Crossing& tensor);

/// Runs the communication of ranks as far as it comes: the first RECV or WAIT_SEND that never
/// completes, if any. For rows that have no fault of their own.
std::optional<CellFault> find_comm_deadlock(const std::vector<std::vector<CommCell>>& rows,
                                            const Placement& placement);

}  // namespace penstock
