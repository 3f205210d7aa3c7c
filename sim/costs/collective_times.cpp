#include "sim/costs/collective_times.hpp"

namespace penstock {
namespace {

/// Once around the ring of every such group of devices.
Carried once_round(const StageCollective& collective, const StageDemand& stage,
                   const ReplicaGroups& replicas) {
  Carried carried;
  for (const SharedParameters& one : stage.parameters) {
    const double steps = collective.holders(one, replicas, stage.ranks).count() - 1;
    carried.bytes += collective.bytes(one, replicas, stage.ranks) * steps / (steps + 1);
    carried.steps += steps;
  }
  if (collective.kind != CollectiveKind::all_reduce) return carried;
  return {2 * carried.bytes, 2 * carried.steps};
}

}  // namespace

Carried carried_by(const std::vector<StageCollective>& collectives, const StageDemand& stage,
                   const ReplicaGroups& replicas) {
  Carried carried;
  for (const StageCollective& one : collectives) {
    const Carried round = once_round(one, stage, replicas);
    carried.bytes += one.times * round.bytes;
    carried.steps += one.times * round.steps;
  }
  return carried;
}

TransferTime CollectiveTimes::of(std::uint32_t model_stage,
                                 const std::vector<StageCollective>& collectives,
                                 const Carried& carried, const Link& way) {
  TransferTime sum;
  for (const StageCollective& one : collectives) {
    const auto time = of_one(model_stage, one);
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
                                                    const StageCollective& one) {
  const auto [found, is_new] =
      known_.try_emplace({model_stage, one.kind, one.factor, one.across_groups});
  if (is_new) found->second = asked(demand_.stages[model_stage], one);
  return found->second;
}

std::optional<TransferTime> CollectiveTimes::asked(const StageDemand& stage,
                                                   const StageCollective& collective) const {
  TransferTime sum;
  for (const SharedParameters& one : stage.parameters) {
    const auto time =
        hardware_.collective(collective.kind, collective.bytes(one, demand_.replicas, stage.ranks),
                             collective.holders(one, demand_.replicas, stage.ranks));
    if (!time) return std::nullopt;
    sum.occupies_us += time->occupies_us;
    sum.latency_us += time->latency_us;
  }
  return sum;
}

}  // namespace penstock
