#include "sim/costs/collective_times.hpp"

namespace penstock {

TransferTime CollectiveTimes::of(std::uint32_t model_stage,
                                 const std::vector<StageCollective>& collectives,
                                 const Carried& carried, const Link& way) {
  TransferTime sum;
  for (const StageCollective& one : collectives) {
    const auto time = of_one(model_stage, one.kind);
    if (!time) {
      const TransferTime ring = hardware_.transfer(carried.bytes, way.from, way.to);
      return {ring.occupies_us, carried.steps * ring.latency_us};
    }
    sum.occupies_us += one.times * time->occupies_us;
    sum.latency_us += one.times * time->latency_us;
  }
  return sum;
}

std::optional<TransferTime> CollectiveTimes::of_one(std::uint32_t model_stage,
                                                    CollectiveKind kind) {
  const auto [found, is_new] = known_.try_emplace({model_stage, kind});
  if (is_new) found->second = asked(shares_[model_stage], kind);
  return found->second;
}

std::optional<TransferTime> CollectiveTimes::asked(const StageShare& stage,
                                                   CollectiveKind kind) const {
  TransferTime sum;
  for (const SharedParameters& one : stage.sizes.parameters) {
    const auto time =
        hardware_.collective(kind, bytes_in(kind, one, training_), holders_of(one, stage));
    if (!time) return std::nullopt;
    sum.occupies_us += time->occupies_us;
    sum.latency_us += time->latency_us;
  }
  return sum;
}

}  // namespace penstock
