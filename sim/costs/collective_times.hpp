#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/costs/demand.hpp"
#include "sim/costs/hardware_model.hpp"

namespace penstock {

/// What one device puts on its link, and how many latencies that takes one after the other.
struct Carried {
  double bytes = 0;
  double steps = 0;
};

/// Collectives once round a ring of all devices that hold the same: n of them sum in n - 1 steps,
/// each with a share of the whole, and hand results round in as many. One device sends as much
/// whatever way is chosen. `data` is the number of data replicas.
Carried carried_by(const std::vector<StageCollective>& collectives, const StageDemand& stage,
                   std::uint32_t data);

/// How long those who hold the same of a model stage take for what they do together: by the
/// hardware's own word, for which it is asked once, or else once round a ring.
class CollectiveTimes {
 public:
  /// Both must outlive it.
  CollectiveTimes(const Demand& demand, const HardwareModel& hardware)
      : demand_(demand), hardware_(hardware) {}

  /// One after the other. `way` leads from a device to the next that holds the same, and in a ring
  /// the device sends `carried` there.
  TransferTime of(std::uint32_t model_stage, const std::vector<StageCollective>& collectives,
                  const Carried& carried, const Link& way);

 private:
  std::optional<TransferTime> of_one(std::uint32_t model_stage, const StageCollective& one);
  std::optional<TransferTime> asked(const StageDemand& stage, const StageCollective& one) const;

  const Demand& demand_;
  const HardwareModel& hardware_;
  // By model stage, kind and factor.
  std::map<std::tuple<std::uint32_t, CollectiveKind, double>, std::optional<TransferTime>> known_;
};

}  // namespace penstock
