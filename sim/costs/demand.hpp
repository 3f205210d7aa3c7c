#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/model/partition.hpp"
#include "sim/model/work.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// A collective of all devices that hold the same parameters of a stage, over these parameters or
/// over tensors that belong to them.
struct StageCollective {
  CollectiveKind kind;
  double factor = 1;  // bytes of its tensors for each byte of parameters
  double times = 1;   // one after the other
};

/// What a pass or a transfer of a stage takes beside the work of its layers.
struct PassDemand {
  double extra_us = 0;
  std::optional<double> sent_bytes;          // of a transfer of other than its buffer's kind
  std::vector<StageCollective> collectives;  // one after the other
};

/// What one model stage holds, sends and takes on each device. Bytes are not yet rounded.
struct StageDemand {
  std::array<double, buffer_kinds> held_bytes{};  // by `BufferKind`: one buffer
  std::array<PassDemand, pass_count> passes;      // by `Pass`
  double parameter_bytes = 0;                     // whole, whatever part of them is held
  std::vector<SharedParameters> parameters;       // the same, apart by copies
  std::vector<Rank> ranks;                        // that hold it, of all chains, ascending

  double held(BufferKind kind) const { return held_bytes[static_cast<std::size_t>(kind)]; }
  const PassDemand& of(Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  PassDemand& of(Pass pass) { return passes[static_cast<std::size_t>(pass)]; }
};

/// What the stages of a plan ask for beside the work of their layers.
struct Demand {
  std::vector<StageDemand> stages;  // by model stage
  std::uint32_t data = 1;           // data replicas of the pipeline
  bool extra_overlaps = false;      // extra time runs beside the layers of its pass
  bool collectives_overlap = true;  // and its collectives beside both; else behind them
};

}  // namespace penstock
