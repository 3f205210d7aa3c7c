#pragma once

#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// Sets what gathers and updates at the end of a step cost beside the work around them: gathers of
/// new weights take as long as the next step's first forwards wait for them, and updates wait for a
/// share of their sums. `costs` has all of these without.
void set_step_end(const Plan& plan, const ModelGraph& model, const Partition& partition,
                  const HardwareModel& hardware, const Demand& demand, Costs& costs);

}  // namespace penstock
