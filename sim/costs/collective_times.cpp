#include "sim/costs/collective_times.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {
namespace {

/// Hardware may be anybody's. `what` is called for the text of an error.
template <class What>
TransferTime checked(const TransferTime& time, What what) {
  if (time.occupies_us >= 0 && time.latency_us >= 0) return time;
  throw InputError(
      "/hardware",
      fmt::format("the hardware gives {} us and a latency of {} us for {}; a time is 0 or more",
                  time.occupies_us, time.latency_us, what()));
}

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

TransferTime checked_transfer(const HardwareModel& hardware, double bytes, const Link& way) {
  return checked(hardware.transfer(bytes, way.from, way.to), [&] {
    return fmt::format("a tensor from {} to {}", end_phrase(way.from), end_phrase(way.to));
  });
}

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
      const TransferTime ring = checked_transfer(hardware_, carried.bytes, way);
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
    const Holders holders = collective.holders(one, demand_.replicas, stage.ranks);
    const auto time = hardware_.collective(
        collective.kind, collective.bytes(one, demand_.replicas, stage.ranks), holders);
    if (!time) return std::nullopt;
    const TransferTime own = checked(
        *time, [&] { return fmt::format("a collective of {:g} devices", holders.count()); });
    sum.occupies_us += own.occupies_us;
    sum.latency_us += own.latency_us;
  }
  return sum;
}

}  // namespace penstock
