#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/chunks.hpp"

namespace penstock {
namespace {

constexpr std::array<ServedKind, 2> kinds{
    {{CollectiveKind::all_reduce,
      "2 (d + k - 1) (B/k/bw + lat), d = log2(n) rounded down; when n is a power of two, the "
      "lowest level moves only half of B/k"},
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
/// of the other. Transfers from parents to children by level below the root. Node 0 is member
/// `first`.
std::vector<Level> two_trees(std::uint64_t nodes, std::uint64_t first, double bytes) {
  std::vector<Level> levels(depth_of(nodes));
  const auto member = [&](std::uint64_t node) { return static_cast<std::uint32_t>(first + node); };
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
};

/// Each chunk has half the bytes: a member receives two at once, or sends two.
Shape shape_of(const CollectiveCall& call) {
  const bool broadcast = call.kind == CollectiveKind::broadcast;
  // The member with the whole tensor is above both trees.
  const std::uint64_t nodes = call.members.count - (broadcast ? 1 : 0);
  const std::uint64_t stages = depth_of(nodes) + (broadcast ? 1 : 0);
  return {nodes, stages, chunks_for(stages, call.bytes, slowest_way(call))};
}

/// Rounds in which no member sends or receives more than one chunk: the lowest level of each tree
/// is a single node and works alone once, or always when it is the only level.
std::uint64_t light_rounds(const CollectiveCall& call, const Shape& shape) {
  if (!std::has_single_bit(shape.nodes) || shape.nodes == 1) return 0;
  const bool only_level = shape.nodes == 2 && call.kind == CollectiveKind::all_reduce;
  return only_level ? shape.chunks : 1;
}

double us(const CollectiveCall& call) {
  const Shape shape = shape_of(call);
  const Speed way = slowest_way(call);
  const double chunk = call.bytes / static_cast<double>(shape.chunks);
  const std::uint64_t light = light_rounds(call, shape);
  const double one_way_us = rounds_us(shape.stages + shape.chunks - 1 - light, chunk, way) +
                            rounds_us(light, chunk / 2, way);
  return call.kind == CollectiveKind::all_reduce ? 2 * one_way_us : one_way_us;
}

/// The reduction: from children to parents, lowest level first.
std::vector<Level> upwards(std::vector<Level> levels) {
  std::reverse(levels.begin(), levels.end());
  for (Level& level : levels) {
    for (Send& sending : level) std::swap(sending.from, sending.to);
  }
  return levels;
}

Rounds rounds(const CollectiveCall& call) {
  const Shape shape = shape_of(call);
  const double bytes = call.bytes / static_cast<double>(shape.chunks) / 2;
  if (call.kind == CollectiveKind::all_reduce) {
    const std::vector<Level> levels = two_trees(shape.nodes, 0, bytes);
    return in_turn(pipelined(upwards(levels), shape.chunks), pipelined(levels, shape.chunks));
  }
  std::vector<Level> levels = two_trees(shape.nodes, 1, bytes);
  const auto last = static_cast<std::uint32_t>(shape.nodes);
  levels.insert(levels.begin(), Level{{0, 1, bytes}, {0, last, bytes}});
  return pipelined(levels, shape.chunks);
}

}  // namespace

constinit extern const CollectiveEntry tree_entry{
    "tree", "double binary tree: each tree moves half the bytes, in k chunks", kinds, us, rounds};

}  // namespace penstock
