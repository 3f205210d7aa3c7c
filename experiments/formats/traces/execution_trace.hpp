#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/costs/demand.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What a node of an execution trace does.
enum class TraceNodeKind : std::uint8_t {
  compute,
  send,
  receive,
  all_reduce,
  reduce_scatter,
  all_gather,
  store,  // to the host's memory
  load,   // and back
};

constexpr bool is_collective(TraceNodeKind kind) {
  return kind >= TraceNodeKind::all_reduce && kind <= TraceNodeKind::all_gather;
}

/// One node of the trace of a rank; its number is its place there.
struct TraceNode {
  TraceNodeKind kind;
  TaskId task;                   // of the plan; of a question, what is asked for
  bool asks = false;             // a question: whether that is done, of a rank that cannot know
  Rank peer{};                   // of a send or receive: the other end
  std::uint32_t tag = 0;         // of a send or receive: no other message of the traces has it
  std::uint64_t amount = 0;      // whole microseconds of a compute node, bytes of all others
  std::uint32_t first_need = 0;  // where its list begins in `RankTrace::needs`
};

/// What one rank does, in topological order, each node with the nodes of the same rank that must
/// have ended before it begins.
struct RankTrace {
  std::vector<TraceNode> nodes;
  std::vector<std::uint32_t> needs;

  std::uint32_t add(TraceNode node, std::span<const std::uint32_t> its_needs);
  std::span<const std::uint32_t> needs_of(std::uint32_t node) const;
};

/// A plan as graphs for others to run: one a rank, tied together by messages alone.
struct ExecutionTrace {
  std::vector<RankTrace> ranks;
  std::uint32_t replicas = 1;  // data replicas, each of which runs the same

  // What the graphs have in place of something else, or not at all.
  std::uint64_t empty_messages = 0;  // tensors of no bytes, which are sent as one byte
  std::uint64_t questions = 0;       // a byte that asks another rank for what it keeps
  std::uint64_t lone_sums = 0;       // collectives of the tail left out: nobody to sum with
  std::uint64_t memory_moves = 0;    // to and from the memory of hosts

  bool has_collectives() const;
};

/// The graphs of a plan. Each action is a compute node behind the one before it on its rank; a
/// fused overlap cell is one node. Each transfer between ranks is a send that waits for what it
/// carries and holds nothing up, and a receive that waits for nothing and is waited for by what
/// reads it. Sums and gatherings of the tail are collectives over the data replicas of a rank;
/// without any, copies of a stage on several ranks sum by messages.
///
/// The microseconds of a rank are rounded so that their sums stay right: from its first compute
/// node to any other, their total is that of the exact durations, rounded once, half up.
///
/// The stages of `demand` are read only where the plan has collectives and data replicas. Throws
/// InputError where collectives carry more than 9e18 bytes.
ExecutionTrace execution_trace(const Plan& plan, const Costs& costs, const Demand& demand);

}  // namespace penstock
