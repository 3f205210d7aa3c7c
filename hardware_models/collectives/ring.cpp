#include <array>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/chunks.hpp"

namespace penstock {
namespace {

constexpr std::array<ServedKind, 5> kinds{
    {{CollectiveKind::all_reduce, "2 (n - 1) (B/n/bw + lat)"},
     {CollectiveKind::reduce_scatter, "(n - 1) (B/n/bw + lat)"},
     {CollectiveKind::all_gather, "(n - 1) (B/n/bw + lat)"},
     {CollectiveKind::broadcast, "(n - 2 + k) (B/k/bw + lat)"},
     {CollectiveKind::ring_exchange, "(n - 1) (B/bw + lat)"}}};

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

/// Member 0 sends chunks along the ring; the last member does not forward them.
std::uint64_t chunks_of(const CollectiveCall& call) {
  return chunks_for(call.members.count - 1, call.bytes, slowest_way(call));
}

double us(const CollectiveCall& call) {
  const Speed way = slowest_way(call);
  if (call.kind == CollectiveKind::broadcast) {
    const std::uint64_t chunks = chunks_of(call);
    return rounds_us(call.members.count - 2 + chunks, call.bytes / static_cast<double>(chunks),
                     way);
  }
  const Steps steps = steps_of(call);
  return rounds_us(steps.count, steps.bytes, way);
}

Rounds rounds(const CollectiveCall& call) {
  if (call.kind != CollectiveKind::broadcast) {
    const Steps steps = steps_of(call);
    return turns(call.members, {call.members.count}, 1, steps.bytes, steps.count);
  }
  const std::uint64_t chunks = chunks_of(call);
  std::vector<std::vector<Send>> hops;
  for (std::uint32_t member = 0; member + 1 < call.members.count; ++member) {
    hops.push_back({{member, member + 1, call.bytes / static_cast<double>(chunks)}});
  }
  return pipelined(hops, chunks);
}

}  // namespace

constinit extern const CollectiveEntry ring_entry{
    "ring", "each member sends to the next: shards, or chunks of a broadcast", kinds, us, rounds};

}  // namespace penstock
