#include "hardware_models/links/link_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware_models/links/groups.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The first key of a scenario that describes shared links.
const char* shared_key(const HardwareSpec& spec) {
  return spec.topology          ? "topology"
         : !spec.links.empty()  ? "links"
         : !spec.routes.empty() ? "routes"
                                : nullptr;
}

void refuse_private_keys(const HardwareSpec& spec) {
  const std::array<std::pair<const char*, bool>, 5> keys{
      {{"transfer_us", spec.transfer_us != 0},
       {"latency_us", spec.latency_us.has_value()},
       {"bandwidth_bytes_per_s", spec.bandwidth_bytes_per_s.has_value()},
       {"host_latency_us", spec.host_latency_us.has_value()},
       {"host_bandwidth_bytes_per_s", spec.host_bandwidth_bytes_per_s.has_value()}}};
  for (const auto& [key, given] : keys) {
    if (!given) continue;
    const bool own = spec.machine && spec.machine->topology;
    throw InputError(
        std::string("/hardware/") + key,
        own ? fmt::format("{} has its own links; parameters of \"topology\" change them",
                          spec.machine->name)
            : "the links of custom hardware each have their own bandwidth and latency");
  }
}

/// Links drawn in a scenario override those of the machine between replicas.
bool knows_ways(const HardwareSpec& spec) {
  if (!spec.machine) return false;
  const Machine& machine = *spec.machine;
  const bool wired = spec.topology || !spec.links.empty();
  return (machine.topology || !wired) && (machine.link || machine.nic);
}

}  // namespace

LinkCosts LinkCosts::private_links(const HardwareSpec& spec, const std::string& name) {
  if (spec.transfer_us != 0 && (spec.latency_us || spec.bandwidth_bytes_per_s)) {
    throw InputError("/hardware",
                     "transfer_us conflicts with latency_us or bandwidth_bytes_per_s; "
                     "give a pure delay, or a latency with a bandwidth");
  }
  if (const char* key = shared_key(spec)) {
    throw InputError(
        std::string("/hardware/") + key,
        fmt::format("the cost model \"{}\" does not support shared links; use \"custom\"", name));
  }
  LinkCosts costs;
  costs.pair_ = {spec.bandwidth_bytes_per_s.value_or(0),
                 spec.latency_us.value_or(spec.transfer_us)};
  costs.host_ = {spec.host_bandwidth_bytes_per_s.value_or(costs.pair_.bandwidth_bytes_per_s),
                 spec.host_latency_us.value_or(costs.pair_.latency_us)};
  return costs;
}

LinkCosts LinkCosts::shared_links(const HardwareSpec& spec) {
  refuse_private_keys(spec);
  LinkCosts costs;
  costs.wiring_ = wiring_of(spec);
  costs.sharing_ = spec.sharing.value_or(Sharing::fair);
  return costs;
}

LinkCosts LinkCosts::links(const HardwareSpec& spec, const std::string& name) {
  return shared_key(spec) != nullptr ? shared_links(spec) : private_links(spec, name);
}

TransferTime LinkCosts::transfer(double bytes, Rank from, Rank to) const {
  if (!wiring_) return transfer_of_pair(bytes, from, to);
  const Route route = wiring_->route({from, to});
  double latency_us = 0;
  for (const std::uint32_t number : route) latency_us += (*wiring_->links)[number].latency_us;
  return {occupied_us(bytes, *wiring_->links, route), latency_us};
}

TransferTime LinkCosts::transfer_of_pair(double bytes, Rank from, Rank to) const {
  const Speed& speed = from == host_memory || to == host_memory ? host_ : pair_;
  if (speed.bandwidth_bytes_per_s == 0) return {0, speed.latency_us};
  return {bytes / speed.bandwidth_bytes_per_s * 1e6, speed.latency_us};
}

Network LinkCosts::network() const {
  return wiring_ ? Network{*wiring_->links, {}, sharing_} : Network{};
}

Route LinkCosts::route(const Link& link) const { return wiring_ ? wiring_->route(link) : Route{}; }

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
