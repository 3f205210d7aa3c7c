#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The kind of an execution trace node.
enum class TraceNodeKind : std::uint8_t {
  compute,
  send,
  receive,
  collective,
  store,  // to host memory
  load,   // from host memory
};

/// A node in the trace of a rank. Its number is its position there.
struct TraceNode {
  TraceNodeKind kind;
  TaskId task;                   // of the plan; of a query, the task asked about
  CollectiveKind collective{};   // of a collective
  bool asks = false;             // a query to a rank that cannot know whether the task is done
  Rank peer{};                   // of a send or receive: the other rank
  std::uint32_t tag = 0;         // of a send or receive: unique in all traces
  std::uint64_t amount = 0;      // nanoseconds of a compute node, otherwise bytes
  std::uint64_t micros = 0;      // microseconds of a compute node
  std::uint32_t first_need = 0;  // start of its list in `RankTrace::needs`
};

/// The nodes of one rank in topological order, each with its dependencies on the same rank.
struct RankTrace {
  std::vector<TraceNode> nodes;
  std::vector<std::uint32_t> needs;

  std::uint32_t add(TraceNode node, std::span<const std::uint32_t> its_needs);
  std::span<const std::uint32_t> needs_of(std::uint32_t node) const;
};

/// A plan as execution graphs, one per rank, connected only by messages.
struct ExecutionTrace {
  std::vector<RankTrace> ranks;
  std::uint32_t replicas = 1;  // data replicas, all with the same graphs

  // What the graphs approximate or leave out.
  std::uint64_t empty_messages = 0;  // empty tensors, sent as one byte
  std::uint64_t questions = 0;       // one-byte messages that ask another rank about a task
  std::uint64_t lone_sums = 0;       // tail collectives left out because there is one replica
  std::uint64_t memory_moves = 0;    // to and from host memory

  bool has_collectives() const;
};

/// The graphs of a plan. Each action is a compute node that follows the previous one of its rank; a
/// fused overlap cell is one node. Each transfer between ranks is a send that depends on its tensor
/// and blocks nothing, and a receive without dependencies on which its readers depend. Reductions
/// and all-gathers of the tail are collectives over the data replicas of a rank. Copies of a stage
/// on several ranks, without data replicas, reduce by messages.
///
/// Nanoseconds and microseconds are rounded without accumulating errors: from the first compute
/// node of a rank to any other, the total is the exact total, rounded once, half up.
///
/// The stages of `demand` are read only if the plan has collectives and data replicas. Throws
/// InputError if collectives carry more than 9e18 bytes.
ExecutionTrace execution_trace(const Plan& plan, const Costs& costs, const Demand& demand);

}  // namespace penstock
