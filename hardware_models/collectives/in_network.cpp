#include <array>

#include "hardware_models/collectives/registry.hpp"

namespace penstock::in_network_file {
namespace {

constexpr std::array<ServedKind, 1> kinds{
    {{CollectiveKind::all_reduce, "(1 + 1/n) B/bw_net + lat_net"}}};

/// Inside one machine with a switch that adds.
bool applies_to(const CollectiveCall& call) {
  return call.reach.in_network.has_value() && call.members.machines() == 1;
}

/// A member sends all it has, receives the sum of its shard, sends that once, and receives all.
double us(const CollectiveCall& call) {
  const double share = 1 + 1 / static_cast<double>(call.members.count);
  return rounds_us(1, share * call.bytes, call.reach.in_network.value_or(call.reach.inside));
}

}  // namespace

constinit extern const CollectiveEntry in_network_entry{
    "in-network", "the switch adds and spreads, as NVLink SHARP does", kinds, us, nullptr,
    applies_to};

}  // namespace penstock::in_network_file
