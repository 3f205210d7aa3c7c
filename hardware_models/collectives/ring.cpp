#include <algorithm>
#include <array>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/rounds.hpp"

namespace penstock::ring_file {
namespace {

constexpr std::array<ServedKind, 5> kinds{
    {{CollectiveKind::all_reduce, "2 (n - 1) (B/n/bw + lat)"},
     {CollectiveKind::reduce_scatter, "(n - 1) (B/n/bw + lat)"},
     {CollectiveKind::all_gather, "(n - 1) (B/n/bw + lat)"},
     {CollectiveKind::broadcast, "(n - 2 + k) (B/k/bw + lat)"},
     {CollectiveKind::ring_exchange, "(n - 1) (B/bw + lat), in a single ring"}}};

/// Rounds in which each member sends to the next, and the bytes of each.
struct Steps {
  std::uint64_t count;
  double bytes;
};

Steps steps_of(const CollectiveCall& call) {
  const std::uint64_t others = call.members.count - 1;
  const double share = call.bytes / static_cast<double>(call.members.count);
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return {2 * others, share};
    case CollectiveKind::ring_exchange:
      return {others, call.bytes};
    default:
      return {others, share};
  }
}

/// Neighbours exchange whole tensors in one ring; all else is split over all NICs.
Speed way_of(const CollectiveCall& call) {
  return call.kind == CollectiveKind::ring_exchange ? slowest_way(call) : way_of_rings(call);
}

/// Member 0 sends chunks along the rings; the last member does not forward them.
std::uint64_t chunks_of(const CollectiveCall& call) {
  return chunks_for(call.members.count - 1, call.bytes, way_of(call));
}

double us(const CollectiveCall& call) {
  const Speed way = way_of(call);
  if (call.kind == CollectiveKind::broadcast) {
    const std::uint64_t chunks = chunks_of(call);
    return rounds_us(call.members.count - 2 + chunks, call.bytes / static_cast<double>(chunks),
                     way);
  }
  const Steps steps = steps_of(call);
  return rounds_us(steps.count, steps.bytes, way);
}

/// The hops of a broadcast: along each cycle, from member 0 on.
std::vector<std::vector<Send>> hops_of(const std::vector<Cycle>& cycles, double bytes) {
  std::vector<std::vector<Send>> hops(cycles.front().size() - 1);
  for (Cycle cycle : cycles) {
    std::rotate(cycle.begin(), std::ranges::find(cycle, 0U), cycle.end());
    for (std::size_t i = 0; i < hops.size(); ++i) {
      hops[i].push_back({cycle[i], cycle[i + 1], bytes});
    }
  }
  return hops;
}

Rounds rounds(const CollectiveCall& call) {
  if (call.kind == CollectiveKind::ring_exchange) {
    return turns(through_all(call.members), call.bytes, call.members.count - 1);
  }
  const std::vector<Cycle> cycles = by_all_nics(call.members);
  const auto rings = static_cast<double>(cycles.size());
  if (call.kind != CollectiveKind::broadcast) {
    const Steps steps = steps_of(call);
    return turns(cycles, steps.bytes / rings, steps.count);
  }
  const std::uint64_t chunks = chunks_of(call);
  return pipelined(hops_of(cycles, call.bytes / static_cast<double>(chunks) / rings), chunks);
}

}  // namespace

constinit extern const CollectiveEntry ring_entry{
    "ring", "each member sends to the next, in a ring for each NIC of a machine", kinds, us,
    rounds};

}  // namespace penstock::ring_file
