#include "experiments/input/formats/traces/execution_trace.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t no_node = UINT32_MAX;

constexpr Time node_ns{1'000};
constexpr Time node_us{1'000'000};

/// Rounds half up. All busy times are far from the end of the clock, so the addition cannot
/// overflow.
std::uint64_t whole(Time time, Time unit) {
  return static_cast<std::uint64_t>((time.picoseconds + unit.picoseconds / 2) / unit.picoseconds);
}

/// Messages cannot be empty.
std::uint64_t at_least_one(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, 1); }

std::uint64_t collective_bytes(double bytes) {
  if (bytes > 9e18) {
    throw InputError("/model",
                     "the gradients of a stage have more than 9e18 bytes, which is as much as a "
                     "trace can hold");
  }
  return at_least_one(static_cast<std::uint64_t>(std::ceil(bytes)));
}

class Builder {
 public:
  Builder(const Plan& plan, const Costs& costs, const Demand& demand)
      : plan_(plan),
        costs_(costs),
        demand_(demand),
        done_(plan.tasks(), no_node),
        received_(plan.tasks(), no_node),
        last_(plan.ranks, no_node),
        worked_(plan.ranks) {
    trace_.ranks.resize(plan.ranks);
    trace_.replicas = demand.replicas.data;
  }

  ExecutionTrace build() && {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      const WorkClass& work = plan_.class_of(task);
      if (!plan_.is_link(work.resource)) {
        add_action(task);
        continue;
      }
      const Link& link = plan_.link(work.resource);
      if (link.to == data_replicas) {
        add_collective(task, link.from);
      } else if (is_rank(link.from) && is_rank(link.to)) {
        add_transfer(task, link);
      } else {
        add_memory_move(task, link);
      }
    }
    return std::move(trace_);
  }

 private:
  /// The two ends of a message.
  struct Message {
    std::uint32_t sent;
    std::uint32_t received;
  };

  void add_action(TaskId task) {
    const WorkClass& work = plan_.class_of(task);
    const Rank rank{work.resource};
    if (work.follows_partner) {
      done_[task] = done_[task - 1];
      return;
    }
    need_inputs(rank, task);
    std::uint32_t& last = last_[work.resource];
    if (last != no_node) needs_.push_back(last);
    const Time before = worked_[work.resource];
    const Time after = worked_[work.resource] += costs_.duration_of(plan_, task);
    last = done_[task] = of(rank).add({.kind = TraceNodeKind::compute,
                                       .task = task,
                                       .amount = whole(after, node_ns) - whole(before, node_ns),
                                       .micros = whole(after, node_us) - whole(before, node_us)},
                                      needs_);
  }

  void add_transfer(TaskId task, const Link& link) {
    need_inputs(link.from, task);
    const std::uint64_t bytes = costs_.bytes[plan_.class_of(task).buffer];
    if (bytes == 0) ++trace_.empty_messages;
    const Message message = add_message(task, link.from, link.to, at_least_one(bytes), needs_);
    done_[task] = message.sent;
    received_[task] = message.received;
  }

  void add_memory_move(TaskId task, const Link& link) {
    const bool stores = is_rank(link.from);
    const Rank rank = stores ? link.from : link.to;
    need_inputs(rank, task);
    ++trace_.memory_moves;
    done_[task] = received_[task] =
        of(rank).add({.kind = stores ? TraceNodeKind::store : TraceNodeKind::load,
                      .task = task,
                      .amount = at_least_one(costs_.bytes[plan_.class_of(task).buffer])},
                     needs_);
  }

  /// What several data replicas hold of a stage: not the experts that they hold once together.
  double replicated_bytes(const StageDemand& stage) const {
    double bytes = 0;
    for (const SharedParameters& one : stage.parameters) {
      if (one.spread < demand_.replicas.data) bytes += one.bytes;
    }
    return bytes;
  }

  /// A reduction counts the whole tensor of each replica, an all-gather the share of one replica.
  void add_collective(TaskId task, Rank rank) {
    need_inputs(rank, task);
    if (demand_.replicas.data == 1) {
      ++trace_.lone_sums;
      done_[task] = needs_.front();
      return;
    }
    const WorkClass& work = plan_.class_of(task);
    const StageDemand& stage = demand_.stages[plan_.model_stage[index(work.stage)]];
    const StageCollective& one = stage.of(work.pass).collectives.front();
    const bool gathers = one.kind == CollectiveKind::all_gather;
    const double whole = replicated_bytes(stage);
    const double bytes = gathers ? whole / demand_.replicas.data : whole * one.factor * one.times;
    done_[task] = of(rank).add({.kind = TraceNodeKind::collective,
                                .task = task,
                                .collective = one.kind,
                                .amount = collective_bytes(bytes)},
                               needs_);
  }

  Message add_message(TaskId task, Rank from, Rank to, std::uint64_t bytes,
                      std::span<const std::uint32_t> needs) {
    TraceNode node{
        .kind = TraceNodeKind::send, .task = task, .peer = to, .tag = messages_++, .amount = bytes};
    const std::uint32_t sent = of(from).add(node, needs);
    node.kind = TraceNodeKind::receive;
    node.peer = from;
    return {sent, of(to).add(node, {})};
  }

  /// The node after which a rank knows that a task is done. A rank learns about other ranks only by
  /// message.
  std::uint32_t seen_from(Rank rank, TaskId task) {
    const WorkClass& work = plan_.class_of(task);
    Rank knows{work.resource};
    std::uint32_t known = done_[task];
    if (plan_.is_link(work.resource)) {
      const Link& link = plan_.link(work.resource);
      if (link.from == rank && link.to != rank) return known;
      knows = is_rank(link.to) ? link.to : link.from;
      if (is_rank(link.to)) known = received_[task];
    }
    if (knows == rank) return known;
    ++trace_.questions;
    const Message question = add_message(task, knows, rank, 1, {&known, 1});
    of(knows).nodes[question.sent].asks = of(rank).nodes[question.received].asks = true;
    return question.received;
  }

  void need_inputs(Rank rank, TaskId task) {
    needs_.clear();
    plan_.for_each_input(task, [&](TaskId input) { needs_.push_back(seen_from(rank, input)); });
  }

  RankTrace& of(Rank rank) { return trace_.ranks[index(rank)]; }

  const Plan& plan_;
  const Costs& costs_;
  const Demand& demand_;
  ExecutionTrace trace_;
  std::vector<std::uint32_t> done_;      // by task: its node on the rank that runs or sends it
  std::vector<std::uint32_t> received_;  // by transfer between ranks: its node on the receiver
  std::vector<std::uint32_t> last_;      // by rank: its last compute node
  std::vector<Time> worked_;             // by rank: total time of its compute nodes so far
  std::vector<std::uint32_t> needs_;     // of the current node
  std::uint32_t messages_ = 0;
};

}  // namespace

std::uint32_t RankTrace::add(TraceNode node, std::span<const std::uint32_t> its_needs) {
  node.first_need = static_cast<std::uint32_t>(needs.size());
  needs.insert(needs.end(), its_needs.begin(), its_needs.end());
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

std::span<const std::uint32_t> RankTrace::needs_of(std::uint32_t node) const {
  const bool is_last = node + 1 == nodes.size();
  const std::size_t end = is_last ? needs.size() : nodes[node + 1].first_need;
  return {needs.data() + nodes[node].first_need, needs.data() + end};
}

bool ExecutionTrace::has_collectives() const {
  return std::ranges::any_of(ranks, [](const RankTrace& rank) {
    return std::ranges::any_of(
        rank.nodes, [](const TraceNode& node) { return node.kind == TraceNodeKind::collective; });
  });
}

ExecutionTrace execution_trace(const Plan& plan, const Costs& costs, const Demand& demand) {
  return Builder(plan, costs, demand).build();
}

}  // namespace penstock
