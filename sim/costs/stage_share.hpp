#pragma once

#include <vector>

#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/model/training.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A model stage as a device holds it, and in how many places it is held so.
struct StageShare {
  StageSizes sizes;
  double data = 1;
  std::vector<Rank> ranks;  // of all chains and replicas, ascending
};

/// One entry a model stage. Throws InputError when an edge leads to an earlier stage.
std::vector<StageShare> stage_shares(const Plan& plan, const ModelGraph& model,
                                     const Partition& partition, const Training& training);

/// The devices that hold the same of these parameters.
Holders holders_of(const SharedParameters& parameters, const StageShare& stage);

/// What a buffer of a stage takes. Not yet rounded.
double bytes_of(BufferKind kind, const StageShare& stage, const Training& training);

/// The bytes that the update of a stage reads and writes on one device: gradients, parameters, and
/// what the optimiser keeps, twice. Of all of them the share that is its own.
double moved_by_update(const StageShare& stage, const Training& training);

/// What all that hold the same of a stage do together, and how often one after the other: with all
/// of its parameters, or, in sums, with their gradients.
struct StageCollective {
  CollectiveKind kind;
  double times = 1;
};

/// Those of a transfer of the tail, none for the exchange of a tied gradient; and those that a pass
/// takes upon itself. Where parameters are in shares it gathers those that it needs, and sums the
/// gradients that it makes.
std::vector<StageCollective> collectives_of(const WorkClass& work, const Training& training);

/// How large one of these parameters is in a collective.
double bytes_in(CollectiveKind kind, const SharedParameters& parameters, const Training& training);

/// What one device puts on its link, and how many latencies that takes one after the other.
struct Carried {
  double bytes = 0;
  double steps = 0;
};

/// Collectives once round a ring of all devices that hold the same: n of them sum in n - 1 steps,
/// each with a share of the whole, and hand results round in as many. One device sends as much
/// whatever way is chosen.
Carried carried_by(const std::vector<StageCollective>& collectives, const StageShare& stage,
                   const Training& training);

}  // namespace penstock
