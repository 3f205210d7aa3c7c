#include <array>

#include "hardware_models/collectives/registry.hpp"

namespace penstock {
namespace {

constexpr std::array<ServedKind, 1> kinds{{{CollectiveKind::all_to_all, "(n - 1) (B/n/bw + lat)"}}};

double share_of(const CollectiveCall& call) {
  return call.bytes / static_cast<double>(call.members.count);
}

double us(const CollectiveCall& call) {
  return rounds_us(call.members.count - 1, share_of(call), slowest_way(call));
}

Rounds rounds(const CollectiveCall& call) {
  return exchanges(call.members, {call.members.count}, share_of(call));
}

}  // namespace

constinit extern const CollectiveEntry pairwise_entry{
    "pairwise", "in round i each member sends its share to the i-th member after it", kinds, us,
    rounds};

}  // namespace penstock
