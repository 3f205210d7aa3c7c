#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/rounds.hpp"

namespace penstock::tree_file {
namespace {

constexpr std::array<ServedKind, 2> kinds{
    {{CollectiveKind::all_reduce,
      "2 (d + k - 1) (B/k/bw + lat), d = log2(n) rounded down; when n is a power of two, the "
      "lowest level moves only half of B/k; across machines d = l - 1 + log2(n/l)"},
     {CollectiveKind::broadcast,
      "(d + k) (B/k/bw + lat), d = log2(n - 1) rounded down; where n - 1 is a power of two, the "
      "same"}}};

using Level = std::vector<Send>;

/// The level of a node in a binary tree filled from the top; the root is at 0.
std::uint64_t level_of(std::uint64_t node) {
  return static_cast<std::uint64_t>(std::bit_width(node + 1)) - 1;
}
std::uint64_t depth_of(std::uint64_t nodes) { return level_of(nodes - 1); }

/// Two trees over the same nodes, the second with the nodes reversed: inner nodes of one are leaves
/// of the other. Transfers from parents to children by level below the root. `members` are the
/// nodes in order.
std::vector<Level> two_trees(const Cycle& members, double bytes) {
  const std::uint64_t nodes = members.size();
  std::vector<Level> levels(depth_of(nodes));
  const auto member = [&](std::uint64_t node) { return members[node]; };
  for (std::uint64_t node = 1; node < nodes; ++node) {
    const std::uint64_t parent = (node - 1) / 2;
    Level& level = levels[level_of(node) - 1];
    level.push_back({member(parent), member(node), bytes});
    level.push_back({member(nodes - 1 - parent), member(nodes - 1 - node), bytes});
  }
  return levels;
}

/// The tree part of a broadcast or a reduction.
struct Shape {
  std::uint64_t nodes;   // members in the trees
  std::uint64_t stages;  // transfers that a chunk passes on its way down
  std::uint64_t chunks;
  Speed way;
};

/// A chain inside each machine and trees across, for each NIC.
bool has_chains(const CollectiveCall& call) {
  return call.kind == CollectiveKind::all_reduce && call.members.mixed();
}

Shape chained_shape(const CollectiveCall& call) {
  const std::uint64_t machines = call.members.machines();
  const std::uint64_t chain = call.members.per_machine - 1, depth = depth_of(machines);
  const auto part = static_cast<double>(chain) / static_cast<double>(chain + depth);
  const Speed way{way_of_rings(call).bandwidth_bytes_per_s,
                  part * call.reach.inside.latency_us + (1 - part) * call.reach.outside.latency_us};
  return {machines, chain + depth, chunks_for(chain + depth, call.bytes, way), way};
}

/// Each chunk has half the bytes: a member receives two at once, or sends two.
Shape shape_of(const CollectiveCall& call) {
  if (has_chains(call)) return chained_shape(call);
  const bool broadcast = call.kind == CollectiveKind::broadcast;
  // The member with the whole tensor is above both trees.
  const std::uint64_t nodes = call.members.count - (broadcast ? 1 : 0);
  const std::uint64_t stages = depth_of(nodes) + (broadcast ? 1 : 0);
  Speed way = slowest_way(call);
  if (call.members.mixed() && stages > 0) {  // laid so that only the upper levels cross machines
    const double crossing = std::min(
        1.0, static_cast<double>(depth_of(call.members.machines())) / static_cast<double>(stages));
    way.latency_us =
        crossing * call.reach.outside.latency_us + (1 - crossing) * call.reach.inside.latency_us;
  }
  return {nodes, stages, chunks_for(stages, call.bytes, way), way};
}

/// Rounds in which no member sends or receives more than one chunk: the lowest level of each tree
/// is a single node and works alone once, or always when it is the only level.
std::uint64_t light_rounds(const CollectiveCall& call, const Shape& shape) {
  if (has_chains(call) || !std::has_single_bit(shape.nodes) || shape.nodes == 1) return 0;
  const bool only_level = shape.nodes == 2 && call.kind == CollectiveKind::all_reduce;
  return only_level ? shape.chunks : 1;
}

double us(const CollectiveCall& call) {
  const Shape shape = shape_of(call);
  const double chunk = call.bytes / static_cast<double>(shape.chunks);
  const std::uint64_t light = light_rounds(call, shape);
  const double one_way_us = rounds_us(shape.stages + shape.chunks - 1 - light, chunk, shape.way) +
                            rounds_us(light, chunk / 2, shape.way);
  return call.kind == CollectiveKind::all_reduce ? 2 * one_way_us : one_way_us;
}

/// The reduction: from children to parents, lowest level first.
std::vector<Level> upwards(std::vector<Level> levels) {
  std::ranges::reverse(levels);
  for (Level& level : levels) {
    for (Send& sending : level) std::swap(sending.from, sending.to);
  }
  return levels;
}

/// From the members at the trees down the chains: each rail has trees of its own, and a chain that
/// begins at their member.
std::vector<Level> chained_levels(const CollectiveCall& call, double bytes) {
  std::vector<Level> levels(depth_of(call.members.machines()));
  const std::vector<Cycle> rails = across_machines(call.members);
  const double share = bytes / static_cast<double>(rails.size());
  for (const Cycle& rail : rails) {
    const std::vector<Level> trees = two_trees(rail, share);
    for (std::size_t i = 0; i < trees.size(); ++i) {
      levels[i].insert(levels[i].end(), trees[i].begin(), trees[i].end());
    }
  }
  for (std::size_t hop = 0; hop + 1 < call.members.per_machine; ++hop) {
    Level& level = levels.emplace_back();
    for (const Cycle& machine : by_machine(call.members)) {
      if (hop + 1 >= machine.size()) continue;
      for (std::size_t rail = 0; rail < rails.size(); ++rail) {
        level.push_back({machine[(rail + hop) % machine.size()],
                         machine[(rail + hop + 1) % machine.size()], 2 * share});
      }
    }
  }
  return levels;
}

Cycle from_member(std::uint64_t first, std::uint64_t nodes) {
  Cycle members(nodes);
  std::iota(members.begin(), members.end(), static_cast<std::uint32_t>(first));
  return members;
}

Rounds rounds(const CollectiveCall& call) {
  const Shape shape = shape_of(call);
  const double bytes = call.bytes / static_cast<double>(shape.chunks) / 2;
  if (call.kind == CollectiveKind::all_reduce) {
    const std::vector<Level> levels = has_chains(call)
                                          ? chained_levels(call, bytes)
                                          : two_trees(from_member(0, shape.nodes), bytes);
    return in_turn(pipelined(upwards(levels), shape.chunks), pipelined(levels, shape.chunks));
  }
  std::vector<Level> levels = two_trees(from_member(1, shape.nodes), bytes);
  const auto last = static_cast<std::uint32_t>(shape.nodes);
  levels.insert(levels.begin(), Level{{0, 1, bytes}, {0, last, bytes}});
  return pipelined(levels, shape.chunks);
}

}  // namespace

constinit extern const CollectiveEntry tree_entry{
    "tree",
    "double binary tree: each tree moves half the bytes, in k chunks; chains inside machines",
    kinds, us, rounds};

}  // namespace penstock::tree_file
