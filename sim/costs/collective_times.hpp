#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// Bytes that one device sends on its link, and the number of sequential latencies.
struct Carried {
  double bytes = 0;
  double steps = 0;
};

/// The load of collectives around a ring of all holders: an all-reduce over n devices takes n - 1
/// reduce steps and n - 1 gather steps, each with a shard. A device sends the same bytes with any
/// algorithm.
Carried carried_by(const std::vector<StageCollective>& collectives, const StageDemand& stage,
                   const ReplicaGroups& replicas);

/// The time of a tensor by the hardware. Throws InputError for one below 0 or NaN.
TransferTime checked_transfer(const HardwareModel& hardware, double bytes, const Link& way);

/// The time of collectives among holders of a model stage: from the hardware model, which is asked
/// once, otherwise around a ring.
class CollectiveTimes {
 public:
  /// Both must outlive it.
  CollectiveTimes(const Demand& demand, const HardwareModel& hardware)
      : demand_(demand), hardware_(hardware) {}

  /// Sequential. `way` leads from a device to the next holder; in a ring the device sends `carried`
  /// there. Throws InputError for a time below 0 or NaN.
  TransferTime of(std::uint32_t model_stage, const std::vector<StageCollective>& collectives,
                  const Carried& carried, const Link& way);

 private:
  std::optional<TransferTime> of_one(std::uint32_t model_stage, const StageCollective& one);
  std::optional<TransferTime> asked(const StageDemand& stage, const StageCollective& one) const;

  const Demand& demand_;
  const HardwareModel& hardware_;
  // By model stage, kind, factor and whether it goes across groups.
  std::map<std::tuple<std::uint32_t, CollectiveKind, double, bool>, std::optional<TransferTime>>
      known_;
};

}  // namespace penstock
