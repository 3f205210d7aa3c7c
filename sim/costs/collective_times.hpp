#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/costs/hardware_model.hpp"
#include "sim/costs/stage_share.hpp"
#include "sim/model/training.hpp"

namespace penstock {

/// How long those who hold the same of a model stage take for what they do together: by the
/// hardware's own word, for which it is asked once, or else once round a ring.
class CollectiveTimes {
 public:
  /// All of these must outlive it.
  CollectiveTimes(const std::vector<StageShare>& shares, const Training& training,
                  const HardwareModel& hardware)
      : shares_(shares), training_(training), hardware_(hardware) {}

  /// One after the other. `way` leads from a device to the next that holds the same, and in a ring
  /// the device sends `carried` there.
  TransferTime of(std::uint32_t model_stage, const std::vector<StageCollective>& collectives,
                  const Carried& carried, const Link& way);

 private:
  std::optional<TransferTime> of_one(std::uint32_t model_stage, CollectiveKind kind);
  std::optional<TransferTime> asked(const StageShare& stage, CollectiveKind kind) const;

  const std::vector<StageShare>& shares_;
  const Training& training_;
  const HardwareModel& hardware_;
  std::map<std::pair<std::uint32_t, CollectiveKind>, std::optional<TransferTime>> known_;
};

}  // namespace penstock
