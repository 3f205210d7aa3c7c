#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// A task of a plan: its place in one topological order of all tasks, in which the tasks of each
/// rank and of each link keep the order they run in.
using TaskId = std::uint32_t;
constexpr TaskId no_task = UINT32_MAX;

/// A directed connection that carries tensors from one rank to another, or from or to one of the
/// ends above.
struct Link {
  Rank from;
  Rank to;
  friend bool operator==(const Link&, const Link&) = default;
};

/// "0>1", "0>host" or "data>0".
std::string text(const Link& link);

/// What memory holds.
enum class BufferKind : std::uint8_t {
  parameters,        // for the whole run
  stash,             // an activation kept from F to the end of B or W
  receive,           // an activation that came over a link, until the F that reads it starts
  gradient,          // on its way and in no memory: a gradient, of the size of the activation
                     // that came, or what a transfer of the tail puts on its link
  weight_gradients,  // for the whole run: the sums of the weight gradients
  optimizer,         // for the whole run: what the optimiser keeps
  versions,          // for the whole run: a further version of the parameters
  pending_weight,    // what I keeps for its W
  workspace,         // what an action needs while it runs
  recomputed,        // what R brings back, to the end of B or W; from F on where there is no R
  context,           // for the whole run, once a rank: what its device needs to run anything
  reserve,           // for the whole run, once a rank: what its allocator cannot use
  input_stash,       // of an activation, what only B or I needs: from F to their end
};
constexpr std::size_t buffer_kinds = 13;

/// "parameters", "pending weight".
std::string_view name(BufferKind kind);

/// Belongs to a rank as a whole; the stage of such a buffer class says nothing.
constexpr bool is_of_rank(BufferKind kind) {
  return kind == BufferKind::context || kind == BufferKind::reserve;
}

/// Held from the start of the run to its end.
constexpr bool for_whole_run(BufferKind kind) {
  return kind == BufferKind::parameters || kind == BufferKind::weight_gradients ||
         kind == BufferKind::optimizer || kind == BufferKind::versions || is_of_rank(kind);
}

/// A kind of buffer of one stage on one rank. All buffers of a class have one size.
struct BufferClass {
  BufferKind kind;
  Stage stage;
  Rank rank;
};

/// What a task of some class does to memory: one buffer taken or given back.
struct MemoryEffect {
  std::uint32_t buffer;  // a buffer class
  bool at_end;           // when the task ends rather than when it starts
  bool takes;
};

/// A kind of task: all tasks of a class cost the same and run on the same rank or link.
struct WorkClass {
  Pass pass;
  Stage stage;                         // of a transfer: the stage that sends
  std::uint32_t resource;              // a rank, or ranks + a link
  std::uint32_t buffer = UINT32_MAX;   // of a transfer: the buffer class that it moves
  std::uint32_t partner = UINT32_MAX;  // of a part of a fused overlap cell: the other's own class
  bool follows_partner = false;        // the second part of a fused cell: runs inside the first
  bool recomputes = false;             // of B and I: begins by making its activation again
  std::vector<MemoryEffect> effects;
};

/// Everything that a run needs but costs: tasks, what each waits for, and the order on each rank
/// and link. It names work classes and buffer classes and knows no durations and no bytes, so one
/// plan is priced many times.
///
/// A task waits for the task before it on its resource, and for `input`. Inputs from the same rank
/// are not listed: the order of the rank implies them.
struct Plan {
  std::string schedule;  // its name, or the file it came from
  std::uint32_t ranks = 0;
  std::uint32_t microbatches = 0;  // of one iteration, over all chains
  std::vector<Link> links;
  std::vector<WorkClass> classes;
  std::vector<BufferClass> buffers;
  std::vector<std::uint32_t> model_stage;  // of each stage: its place in its chain

  // One entry a task.
  std::vector<std::uint32_t> work;  // its class
  std::vector<Microbatch> microbatch;
  std::vector<TaskId> input;          // no_task, a task, or several | a place in `inputs`
  std::vector<std::uint32_t> inputs;  // lists for tasks with more: their number, then the tasks

  std::vector<TaskId>
      followers;  // second parts of fused cells: each starts with the task before it

  // By link: whether `links_in_one_order` found it so. Whoever makes a plan or changes an order in
  // it fills this in; a link that it does not reach counts as out of order.
  std::vector<bool> in_one_order;

  static constexpr std::uint32_t several = 0x8000'0000U;

  std::uint32_t tasks() const { return static_cast<std::uint32_t>(work.size()); }
  std::uint32_t resources() const { return ranks + static_cast<std::uint32_t>(links.size()); }
  const WorkClass& class_of(TaskId task) const { return classes[work[task]]; }
  bool is_link(std::uint32_t resource) const { return resource >= ranks; }
  const Link& link(std::uint32_t resource) const { return links[resource - ranks]; }

  /// Calls `visit(input)` for each listed input of a task.
  template <class Visitor>
  void for_each_input(TaskId task, Visitor&& visit) const {
    const TaskId first = input[task];
    if (first == no_task) return;
    if ((first & several) == 0) return visit(first);
    const std::uint32_t* list = &inputs[first & ~several];
    for (std::uint32_t i = 1; i <= *list; ++i) visit(list[i]);
  }
};

/// Adds a task behind all others; `input` as `Plan::input` has it.
inline TaskId add_task(Plan& plan, std::uint32_t work, Microbatch microbatch, TaskId input) {
  plan.work.push_back(work);
  plan.microbatch.push_back(microbatch);
  plan.input.push_back(input);
  return plan.tasks() - 1;
}

/// The tasks of every resource in the order they run: those of resource r are
/// `tasks[first[r] … first[r + 1])`.
struct ResourceOrders {
  std::vector<std::uint32_t> first;
  std::vector<TaskId> tasks;
};
ResourceOrders resource_orders(const Plan& plan);

/// An end of a link: "3", "host" or "data"; and in words: "rank 3", "the host's memory".
std::string end_text(Rank end);
std::string end_phrase(Rank end);

/// Of which links the transfers become ready in plan order, whatever things cost: one rank asks for
/// all of them, and where they wait for other transfers besides, these come in the same order over
/// one link. Only then is to serve them in plan order to serve them first come first served.
std::vector<bool> links_in_one_order(const Plan& plan);

/// "2F5", or "2SEND_F5" for a transfer.
std::string task_text(const Plan& plan, TaskId task);

/// A number that equal plans share, whatever their schedule is called, and that different ones, in
/// practice, do not.
std::uint64_t plan_hash(const Plan& plan);

}  // namespace penstock
