#pragma once

#include "experiments/run/layout/training_step.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What each model stage of a plan holds, sends and takes in a training step. All copies of a stage
/// take part in its collectives: its replicas in all chains, times the data replicas, times the
/// replicas within a rank's group. With ZeRO-3, each pass gathers its
/// parameters and reduces its gradients. Throws InputError when an edge leads to an earlier stage.
Demand demand_of(const Plan& plan, const ModelGraph& model, const Partition& partition,
                 const Training& training);

/// Prices a plan for a training step. Throws InputError as `demand_of` and the `price` of a
/// `Demand` do.
Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Training& training = {});

}  // namespace penstock
