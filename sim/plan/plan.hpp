#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A task of a plan: its index in a topological order of all tasks, which preserves the order on
/// each rank and link.
using TaskId = std::uint32_t;
constexpr TaskId no_task = UINT32_MAX;

/// A directed connection that carries tensors between two ranks, between a rank and one of the
/// ends above, or within one rank.
struct Link {
  Rank from;
  Rank to;
  friend bool operator==(const Link&, const Link&) = default;
};

/// "0>1", "0>host" or "data>0".
std::string text(const Link& link);

/// What a buffer holds.
enum class BufferKind : std::uint8_t {
  parameters,  // for the whole run
  stash,       // an activation kept from F to the end of B or W
  receive,     // a received activation, until the F that reads it starts
  // In flight and in no memory: a gradient, of the size of the received activation, or what a
  // transfer of the tail sends.
  gradient,
  weight_gradients,  // for the whole run: sums of weight gradients
  optimizer,         // for the whole run: optimizer state
  versions,          // for the whole run: another version of the parameters
  pending_weight,    // kept by I for its W
  workspace,         // temporary memory of an action
  recomputed,        // restored by R, until the end of B or W; from F on without an R
  context,           // for the whole run, once per rank: per-device overhead
  input_stash,       // what only B or I needs of an activation: from F to their end
  gathered,          // whole parameters of a sharded stage, from UNSHARD to RESHARD
};
constexpr std::size_t buffer_kinds = 13;

/// "parameters", "pending weight".
std::string_view name(BufferKind kind);

/// Belongs to a rank as a whole; the stage of such a buffer class is meaningless.
constexpr bool is_of_rank(BufferKind kind) { return kind == BufferKind::context; }

/// Held from the start of the run to its end.
constexpr bool for_whole_run(BufferKind kind) {
  return kind == BufferKind::parameters || kind == BufferKind::weight_gradients ||
         kind == BufferKind::optimizer || kind == BufferKind::versions || is_of_rank(kind);
}

/// Of a stage or rank, whichever microbatch runs.
constexpr bool of_all_microbatches(BufferKind kind) {
  return for_whole_run(kind) || kind == BufferKind::gathered;
}

/// A kind of buffer of one stage on one rank. All buffers of a class have the same size.
struct BufferClass {
  BufferKind kind;
  Stage stage;
  Rank rank;
};

/// A memory effect of a task: one buffer allocated or freed.
struct MemoryEffect {
  std::uint32_t buffer;  // a buffer class
  bool at_end;           // when the task ends, not when it starts
  bool takes;
};

/// A kind of task: all tasks of a class have the same cost and rank or link.
struct WorkClass {
  Pass pass;
  Stage stage;                         // of a transfer: the sending stage
  std::uint32_t resource;              // a rank, or ranks + a link
  std::uint32_t buffer = UINT32_MAX;   // of a transfer: its buffer class
  std::uint32_t partner = UINT32_MAX;  // in a fused overlap cell: the class of the other part
  bool follows_partner = false;        // the second part of a fused cell: runs inside the first
  bool recomputes = false;             // of B and I: begins with recomputation
  std::vector<MemoryEffect> effects;
};

/// Everything a run needs except costs: tasks, their inputs, and the order on each rank and link.
/// It names work classes and buffer classes and has no durations and no bytes, so one plan is
/// priced many times.
///
/// A task waits for the task before it on its resource, and for `input`. Inputs from the same rank
/// are not listed: the order of the rank implies them.
struct Plan {
  std::string schedule;  // its name, or its file
  std::uint32_t ranks = 0;
  std::uint32_t microbatches = 0;  // per iteration, over all chains
  std::vector<Link> links;
  std::vector<WorkClass> classes;
  std::vector<BufferClass> buffers;
  std::vector<std::uint32_t> model_stage;  // of each stage: its index in its chain
  // Of each stage: its part of the model; empty where the model is one.
  std::vector<std::string> modules;

  // One entry per task.
  std::vector<std::uint32_t> work;  // its class
  std::vector<Microbatch> microbatch;
  std::vector<TaskId> input;          // no_task, a task, or `several` | an index into `inputs`
  std::vector<std::uint32_t> inputs;  // lists for tasks with more: their number, then the tasks

  std::vector<TaskId>
      followers;  // second parts of fused cells: each starts with the task before it

  // What work classes and ranks are called where a plan is no pipeline but the lanes of a trace;
  // else empty.
  std::vector<std::string> class_names, rank_names;

  // By link: the result of `links_in_one_order`. Set by whoever makes a plan or changes its order;
  // links beyond its end count as out of order.
  std::vector<bool> in_one_order;
  // Communication moves where the order has it: a transfer waits for both of its ends to come to
  // it, not only for the action that makes its tensor.
  bool written = false;

  static constexpr std::uint32_t several = 0x8000'0000U;

  std::uint32_t tasks() const { return static_cast<std::uint32_t>(work.size()); }
  std::uint32_t resources() const { return ranks + static_cast<std::uint32_t>(links.size()); }
  const WorkClass& class_of(TaskId task) const { return classes[work[task]]; }
  bool is_link(std::uint32_t resource) const { return resource >= ranks; }
  const Link& link(std::uint32_t resource) const { return links[resource - ranks]; }

  /// The listed inputs of a task.
  std::span<const TaskId> inputs_of(TaskId task) const {
    const TaskId& first = input[task];
    if (first == no_task) return {};
    if ((first & several) == 0) return {&first, 1};
    const std::uint32_t* const list = &inputs[first & ~several];
    return {list + 1, *list};
  }
  /// Calls `visit(input)` for each of them.
  template <class Visitor>
  void for_each_input(TaskId task, Visitor&& visit) const {
    for (const TaskId one : inputs_of(task)) visit(one);
  }
};

/// Appends a task; `input` is encoded as in Plan::input.
inline TaskId add_task(Plan& plan, std::uint32_t work, Microbatch microbatch, TaskId input) {
  plan.work.push_back(work);
  plan.microbatch.push_back(microbatch);
  plan.input.push_back(input);
  return plan.tasks() - 1;
}

/// The tasks of every resource in running order: those of resource r are `tasks[first[r] … first[r
/// + 1])`.
struct ResourceOrders {
  std::vector<std::uint32_t> first;
  std::vector<TaskId> tasks;
};
ResourceOrders resource_orders(const Plan& plan);

/// The actions of each rank in running order, but for updates, which lowering adds. Those of fused
/// cells are joined.
Schedule order_of(const Plan& plan);

/// An end of a link: "3", "host" or "data"; and in words: "rank 3", "host memory".
std::string end_text(Rank end);
std::string end_phrase(Rank end);

/// Links whose transfers become ready in plan order for any costs: one rank issues all of them, and
/// other transfers that they wait for come in the same order over one link. Only on these links is
/// plan order first come first served.
std::vector<bool> links_in_one_order(const Plan& plan);

/// Whether a tensor's transfer waits for anything but one action, as in a plan with written
/// communication.
bool waits_beyond_makers(const Plan& plan);

/// Whether tasks of a class exchange what a stage puts out within its rank.
bool is_exchange(const Plan& plan, const WorkClass& work);
/// The same of any task of a plan.
bool has_exchanges(const Plan& plan);

/// What tasks of a class are called, without stage and microbatch: "F", "SEND_F", or "EXCHANGE_F"
/// for one within a rank.
std::string_view word_of(const Plan& plan, const WorkClass& work);

/// "2F5", or "2SEND_F5" for a transfer; the name of its class if it has one.
std::string task_text(const Plan& plan, TaskId task);

/// A hash of a plan, independent of the schedule's name.
std::uint64_t plan_hash(const Plan& plan);

/// The same of a plan whose tasks are not all there at once. FNV-1a over 32-bit words, the same on
/// every machine.
class PlanHash {
 public:
  /// Of all but tasks.
  explicit PlanHash(const Plan& plan);

  void add(std::uint32_t word) { value_ = (value_ ^ word) * 0x100000001b3U; }
  /// Of a column: its length and its elements. Columns come in the order of the plan: work,
  /// microbatch, input, inputs.
  template <class Range>
  void add_all(const Range& range) {
    add(static_cast<std::uint32_t>(range.size()));
    for (const auto item : range) add(static_cast<std::uint32_t>(item));
  }
  std::uint64_t value() const { return value_ ^ (value_ >> 32); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Adds the inputs of a task to a plan, encoded as `Plan::input`.
inline TaskId add_inputs(Plan& plan, std::span<const TaskId> inputs) {
  if (inputs.empty()) return no_task;
  if (inputs.size() == 1) return inputs.front();
  const auto list = static_cast<std::uint32_t>(plan.inputs.size());
  plan.inputs.push_back(static_cast<std::uint32_t>(inputs.size()));
  plan.inputs.insert(plan.inputs.end(), inputs.begin(), inputs.end());
  return list | Plan::several;
}

}  // namespace penstock
