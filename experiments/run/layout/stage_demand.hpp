#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/run/layout/stage_coding.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/costs/layer_turns.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The last of the first stages that have degrees of their own, such as those of an encoder.
struct ModuleEnd {
  std::uint32_t stage = 0;
  bool frozen = false;  // these stages keep no gradients and are not updated
  double received = 1;  // of its output on one device, what a device of the next stage receives
  double sent = 1;      // of that, what one of its devices sends
};

/// Numbers of a training step that pricing adds to a plan.
struct Training {
  std::uint32_t data = 1;          // data replicas of the pipeline
  std::uint32_t shard_groups = 1;  // of these, each of which shards on its own
  double gradient_factor = 1;      // bytes of weight gradients per byte of parameters
  double optimizer_factor = 0;     // bytes of optimizer state per byte of parameters
  // What the copies of a stage shard. 1: optimizer state; each copy updates its share. 2: also
  // gradients, reduced after each backward. 3: also parameters, gathered for each pass.
  std::uint32_t zero = 0;
  // ZeRO-2 and -3: gradients stay whole until the last microbatch and are then reduced once.
  bool whole_gradients = false;
  // ZeRO-3: passes gather nothing, since the order has UNSHARD.
  bool gathers_written = false;
  std::optional<double> gathered_bytes;  // of parameters at a time; empty: `layers_ahead` + 1
  // How many layers ahead ZeRO-3 gathers parameters; empty: layers state their times, and a pass
  // overlaps with all of its collectives.
  std::optional<std::uint32_t> layers_ahead;
  // ZeRO-3: recomputation needs no gathering of its own, since each layer is recomputed right
  // before its backward.
  bool recomputes_gathered = false;
  std::vector<double> placeholder_bytes;  // of gradients, by model stage; empty: none
  std::vector<std::uint32_t> buckets;     // of gradients, by model stage; empty: one each
  double received_share = 1;              // of an activation or gradient that a device receives
  std::optional<ModuleEnd> module;        // where the first stages have degrees of their own
  bool overlaps_sums = true;      // false: passes of ZeRO-2 and -3 wait for their own reductions
  bool overlaps_gathers = false;  // new weights of ZeRO-1 and -2 arrive during the next forwards
  double stretch = 1;             // see Demand
  Exposed exposed = {};
  Interference slows = {};        // passes and their own collectives, where they overlap
  double optimizer_us = 0;        // of the U of a stage, whatever its size
  double step_us = 0;             // of the Us of a rank together
  double update_bytes_per_s = 0;  // memory traffic of U; 0: takes no time
  double tied_embedding_bytes = 0;
  double context_bytes = 0;        // fixed, per rank
  std::vector<CodecTimes> codecs;  // by model stage; empty where nothing is encoded
  bool codecs_overlap = false;     // encoding and decoding overlap with the layers of their pass

  ReplicaGroups replicas() const { return {data, shard_groups}; }
};

/// Parameter bytes of one device: all of them, and its share among the replicas.
struct KeptParameters {
  double whole = 0;
  double share = 0;

  /// Sharded from this ZeRO level on.
  double sharded_from(std::uint32_t level, const Training& training) const {
    return training.zero >= level ? share : whole;
  }
  double gradients(const Training& training) const {
    return (training.whole_gradients ? whole : sharded_from(2, training)) *
           training.gradient_factor;
  }
  double optimizer(const Training& training) const {
    return sharded_from(1, training) * training.optimizer_factor;
  }
  /// Weights, gradients and optimizer state.
  double state(const Training& training) const {
    return sharded_from(3, training) + gradients(training) + optimizer(training);
  }
};

/// What each model stage of a plan holds, sends and takes in a training step. All copies of a stage
/// take part in its collectives: its replicas in all chains, times the data replicas, times the
/// replicas within a rank's group. With ZeRO-3, each pass gathers its
/// parameters and reduces its gradients. Throws InputError when an edge leads to an earlier stage.
Demand demand_of(const Plan& plan, const ModelGraph& model, const Partition& partition,
                 const Training& training);

/// Bytes of weights, gradients and optimizer state that a device keeps of a layer, which `ranks` of
/// a data replica hold.
double state_bytes(const Layer& layer, std::size_t ranks, const Training& training);

/// What data replicas do together: passes that gather weights from them or reduce gradients over
/// them, and those in which they exchange tokens of experts.
Together together_of(const ModelGraph& model, const Partition& partition, const Training& training);

/// Prices a plan for a training step. Throws InputError as `demand_of` and the `price` of a
/// `Demand` do.
Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Training& training = {});

}  // namespace penstock
