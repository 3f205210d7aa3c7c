#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// All that the costs of a plan depend on.
struct CostInputs {
  const Plan& plan;
  const ModelGraph& model;
  const Partition& partition;
  const HardwareModel& hardware;
  const Demand& demand;

  std::uint32_t stage_of(const WorkClass& work) const {
    return plan.model_stage[index(work.stage)];
  }
};

/// By work class of a plan, as `Costs` has them: times on ranks and links, latencies, and what is
/// hidden.
struct ClassTimes {
  std::vector<Time>& duration;
  std::vector<Time>& latency;
  std::vector<Time>& hidden;
};

/// Sets what gathers and updates at the end of a step cost beside the work around them: gathers of
/// new weights take as long as the next step's first forwards wait for them, and updates wait for a
/// share of their sums.
void set_step_end(const CostInputs& inputs, ClassTimes times);

}  // namespace penstock
