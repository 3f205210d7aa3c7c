#include "hardware_models/links/weight_collectives.hpp"

#include <algorithm>

#include "hardware_models/links/groups.hpp"

namespace penstock {
namespace {

/// Links drawn in a scenario override those of the machine between replicas.
bool knows_ways(const HardwareSpec& spec) {
  if (!spec.machine) return false;
  const Machine& machine = *spec.machine;
  const bool wired = spec.topology || !spec.links.empty();
  return (machine.topology || !wired) && (machine.link || machine.nic);
}

}  // namespace

WeightCollectives::WeightCollectives(const HardwareSpec& spec) {
  if (!knows_ways(spec)) return;
  spec_.emplace(spec);
  spec_->profile.reset();  // may be large; has no link times
}

std::optional<TransferTime> WeightCollectives::time(CollectiveKind kind, double bytes,
                                                    const Holders& holders) const {
  if (!spec_) return std::nullopt;
  const Machine& machine = *spec_->machine;
  const Members members = members_of(machine, HolderPlaces(*spec_, holders));
  if (members.count == 1) return TransferTime{};
  const CollectiveCall call{kind, bytes, members, reach_of(machine, members)};
  const CollectiveEntry& algorithm = chosen(call, spec_->collectives);
  const double latency_us = algorithm.us({kind, 0, members, call.reach});
  return TransferTime{std::max(0.0, algorithm.us(call) - latency_us),
                      latency_us + call.reach.begin_us};
}

}  // namespace penstock
