#pragma once

#include <vector>

#include "sim/model_graph.hpp"
#include "sim/partition.hpp"
#include "sim/plan.hpp"
#include "sim/training.hpp"

namespace penstock {

/// A model stage as a device holds it, and in how many places it is held so.
struct StageShare {
  StageSizes sizes;
  double copies = 0;  // over all chains, replicas and data replicas
};

/// One entry a model stage. Throws InputError when an edge leads to an earlier stage.
std::vector<StageShare> stage_shares(const Plan& plan, const ModelGraph& model,
                                     const Partition& partition, const Training& training);

/// What a buffer of a stage takes. Not yet rounded.
double bytes_of(BufferKind kind, const StageShare& stage, const Training& training);

/// The bytes that the update of a stage reads and writes on one device: gradients, parameters, and
/// what the optimiser keeps, twice. Of all of them the share that is its own.
double moved_by_update(const StageShare& stage, const Training& training);

/// What one device puts on its link, and how many latencies that takes one after the other.
struct Carried {
  double bytes = 0;
  double steps = 0;
};

/// A transfer of the tail. Sums go round a ring of all devices that hold the same weights: n of
/// them sum in n - 1 steps, each with a share of the whole, and hand results round in as many.
Carried carried_by_tail(Pass pass, const StageShare& stage, const Training& training);

/// What a pass over a stage itself carries, where its parameters are in shares: it gathers those
/// that it needs, and sums the gradients that it makes.
Carried carried_by_pass(const WorkClass& work, const StageShare& stage, const Training& training);

}  // namespace penstock
