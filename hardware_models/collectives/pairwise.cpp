#include <array>

#include "hardware_models/collectives/registry.hpp"

namespace penstock::pairwise_file {
namespace {

constexpr std::array<ServedKind, 1> kinds{
    {{CollectiveKind::all_to_all,
      "(l - 1) (B/n/bw_in + lat_in) + (n - l) (B/n/bw_out + lat_out)"}}};

double share_of(const CollectiveCall& call) {
  return call.bytes / static_cast<double>(call.members.count);
}

double us(const CollectiveCall& call) {
  const Members& members = call.members;
  const std::uint64_t crossing = (members.machines() - 1) * members.per_machine;
  return rounds_us(members.per_machine - 1, share_of(call), call.reach.inside) +
         rounds_us(crossing, share_of(call), call.reach.outside);
}

Rounds rounds(const CollectiveCall& call) { return pairs(call.members, share_of(call)); }

}  // namespace

constinit extern const CollectiveEntry pairwise_entry{
    "pairwise", "in each round to another member, first inside machines", kinds, us, rounds};

}  // namespace penstock::pairwise_file
