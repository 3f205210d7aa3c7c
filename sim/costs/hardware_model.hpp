#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/layer_turns.hpp"
#include "sim/costs/network.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/model/work.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// How long a transfer occupies its link, and its latency, in microseconds.
struct TransferTime {
  double occupies_us = 0;
  double latency_us = 0;
};

/// How long a pass occupies each part of a device, in microseconds: its arithmetic units, its
/// memory alone, its links alone.
struct DeviceUse {
  double compute_us = 0;
  double memory_us = 0;
  double network_us = 0;

  DeviceUse& operator+=(const DeviceUse& other) {
    compute_us += other.compute_us;
    memory_us += other.memory_us;
    network_us += other.network_us;
    return *this;
  }
};

/// The replicas of some weights: `copies` devices in the group of each of these ranks, in each data
/// replica, or in each few of them that hold the weights once together.
struct Holders {
  double copies = 1;            // in the group of a rank
  double data = 1;              // such groups
  std::span<const Rank> ranks;  // ascending
  double parts = 1;             // sets like this one that the replicas of a rank make up
  bool strided = false;         // their devices take turns; else the sets lie behind each other

  double count() const { return copies * data * static_cast<double>(ranks.size()); }
};

/// Data replicas of a pipeline. Those of a group shard what they hold; each group holds all of it.
struct ReplicaGroups {
  std::uint32_t data = 1;
  std::uint32_t groups = 1;  // divides them
};

/// The replicas of parameters that a stage on these ranks has: those of one group, or across groups
/// those of one share.
inline Holders holders_of(const SharedParameters& parameters, const ReplicaGroups& replicas,
                          std::span<const Rank> ranks, bool across_groups = false) {
  const double groups = replicas.groups;
  const double data = replicas.data / parameters.spread / groups;
  if (!across_groups) return {parameters.copies, data, ranks, groups};
  return {1, groups, ranks.first(1), parameters.copies * data, true};
}

/// The cost of work on some hardware. Times are unrounded; `price` rounds each sum once.
class HardwareModel {
 public:
  virtual ~HardwareModel() = default;

  /// The time of one pass over one layer; nothing when unknown.
  virtual std::optional<double> compute_us(const Layer& layer, Pass pass) const = 0;
  /// Whether `compute_us` may tell layers apart that cost alike (`cost_alike`): by their names or
  /// places. Where it does not, some of them in a row are asked for once.
  virtual bool looks_at_names() const { return true; }
  /// What the time of a pass consists of, to tell what two passes on one device can share. Nothing
  /// for a layer that states its times: those of two passes overlap as stated.
  virtual std::optional<DeviceUse> use(const Layer& /*layer*/, Pass /*pass*/) const {
    return std::nullopt;
  }
  /// A tensor without contention. The ends may be `host_memory` or `data_replicas`.
  virtual TransferTime transfer(double bytes, Rank from, Rank to) const = 0;
  /// A collective of all holders of the same weights, without contention; `bytes` is the size of
  /// the whole tensor. Nothing when only the route between neighbours is known: a ring is used
  /// then.
  virtual std::optional<TransferTime> collective(CollectiveKind /*kind*/, double /*bytes*/,
                                                 const Holders& /*holders*/) const {
    return std::nullopt;
  }

  /// Dense peak of one device in its precision; nothing when unknown.
  virtual std::optional<double> peak_flops() const { return std::nullopt; }

  /// The physical links that transfers share; without any, each ordered pair of ranks has its own
  /// link. `routes` stays empty: see `route`.
  virtual Network network() const { return {}; }
  /// The physical links from one end to the other, in order. Throws InputError when there is no
  /// route.
  virtual Route route(const Link& /*link*/) const { return {}; }
};

/// A collective over the parameters of a stage, or tensors belonging to them, among their holders
/// in one group of replicas; across groups, over one share among its holders in all of them.
struct StageCollective {
  CollectiveKind kind;
  double factor = 1;  // bytes of its tensors per byte of parameters
  double times = 1;   // repetitions in sequence
  bool across_groups = false;

  /// Who takes part for some parameters, and the bytes of the whole tensor.
  Holders holders(const SharedParameters& parameters, const ReplicaGroups& replicas,
                  std::span<const Rank> ranks) const {
    return holders_of(parameters, replicas, ranks, across_groups);
  }
  double bytes(const SharedParameters& parameters, const ReplicaGroups& replicas,
               std::span<const Rank> ranks) const {
    const double whole = factor * parameters.bytes;
    return across_groups ? whole / holders_of(parameters, replicas, ranks).count() : whole;
  }
};

/// The cost of a pass or transfer of a stage beyond its layers.
struct PassDemand {
  double extra_us = 0;
  double host_bytes = 0;  // to or from host memory meanwhile; a pass takes at least as long
  std::optional<double> sent_bytes;  // of a transfer, when not that of its buffer kind
  double sent_share = 1;  // of a transfer: what a device sends, over what a receiving one holds
  std::vector<StageCollective> collectives;  // in sequence
};

/// What one model stage holds and sends per device, and its extra work. Bytes are unrounded.
struct StageDemand {
  std::array<double, buffer_kinds> held_bytes{};  // by `BufferKind`: one buffer
  std::array<PassDemand, pass_count> passes;      // by `Pass`
  double parameter_bytes = 0;                     // whole, not only the share held
  std::vector<SharedParameters> parameters;       // the same, by who holds them
  std::vector<Rank> ranks;                        // that hold it, in all chains, ascending

  double held(BufferKind kind) const { return held_bytes[static_cast<std::size_t>(kind)]; }
  const PassDemand& of(Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  PassDemand& of(Pass pass) { return passes[static_cast<std::size_t>(pass)]; }
};

/// What the stages of a plan need beyond the work of their layers.
struct Demand {
  std::vector<StageDemand> stages;  // by model stage
  ReplicaGroups replicas;           // of the pipeline
  bool extra_overlaps = false;      // extra time overlaps the layers of its pass
  bool collectives_overlap = true;  // collectives overlap both; otherwise they follow
  // Weights that are gathered after an update arrive during the next step's first forwards; only
  // the time that those wait is charged.
  bool gathers_overlap = false;
  // A reduction follows each backward, which waits for the exposed share of it; otherwise updates
  // wait for that of theirs.
  bool sums_each = false;
  Interference slows = {};  // collectives of a pass and its work, where they overlap
  double stretch = 1;       // of the time of layers, that many replicas cost
  Exposed exposed = {};     // of what overlaps; all that is outside passes counts as sums
  // How many layers ahead of its turn the weights of a layer are gathered, where collectives
  // overlap; empty: a pass overlaps all of its collectives.
  std::optional<std::uint32_t> layers_ahead = {};
  double step_us = 0;  // of a rank, however many stages it updates: in the update of the lowest
};

}  // namespace penstock
