#pragma once

#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

// Orders that are run with their own communication (/schedule/communication=written).

/// The communication of an order that the scenario wants as written: `stated`, or that of PyTorch's
/// lowering where this is empty. Throws InputError where none can be written.
Communication written_communication(const Scenario& scenario, const Schedule& schedule,
                                    const Placement& placement,
                                    std::vector<std::vector<CommCell>> stated);

/// Refuses what else in a scenario says how tensors move.
void check_beside_written(const Scenario& scenario);

/// What the cells of a written order do in this layout: which tensors leave without their RECV, and
/// whether weights are gathered and gradients reduced. Notes UNSHARDs that gather nothing.
void settle_communication(const Scenario& scenario, Layout& layout);

/// Refuses transfers that hold up their ranks beside exchanges that stand apart. Throws InputError
/// with a pointer into the scenario.
void check_exchanges(const Scenario& scenario, const Layout& layout);

}  // namespace penstock
