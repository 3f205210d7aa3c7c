#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/costs/layer_turns.hpp"
#include "sim/model/partition.hpp"
#include "sim/model/work.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A collective of all holders of a stage's parameters, over the parameters or tensors belonging to
/// them.
struct StageCollective {
  CollectiveKind kind;
  double factor = 1;  // bytes of its tensors per byte of parameters
  double times = 1;   // repetitions in sequence
};

/// The cost of a pass or transfer of a stage beyond its layers.
struct PassDemand {
  double extra_us = 0;
  std::optional<double> sent_bytes;          // of a transfer, when not that of its buffer kind
  std::vector<StageCollective> collectives;  // in sequence
};

/// What one model stage holds and sends per device, and its extra work. Bytes are unrounded.
struct StageDemand {
  std::array<double, buffer_kinds> held_bytes{};  // by `BufferKind`: one buffer
  std::array<PassDemand, pass_count> passes;      // by `Pass`
  double parameter_bytes = 0;                     // whole, not only the share held
  std::vector<SharedParameters> parameters;       // the same, by number of copies
  std::vector<Rank> ranks;                        // that hold it, in all chains, ascending

  double held(BufferKind kind) const { return held_bytes[static_cast<std::size_t>(kind)]; }
  const PassDemand& of(Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  PassDemand& of(Pass pass) { return passes[static_cast<std::size_t>(pass)]; }
};

/// What the stages of a plan need beyond the work of their layers.
struct Demand {
  std::vector<StageDemand> stages;  // by model stage
  std::uint32_t data = 1;           // data replicas of the pipeline
  bool extra_overlaps = false;      // extra time overlaps the layers of its pass
  bool collectives_overlap = true;  // collectives overlap both; otherwise they follow
  // Weights that are gathered after an update arrive during the next step's first forwards; only
  // the time that those wait is charged.
  bool gathers_overlap = false;
  Interference slows = {};  // collectives of a pass and its work, where they overlap
  // How many layers ahead of its turn the weights of a layer are gathered, where collectives
  // overlap; empty: a pass overlaps all of its collectives.
  std::optional<std::uint32_t> layers_ahead = {};
};

}  // namespace penstock
