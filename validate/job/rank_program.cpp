#include "validate/job/rank_program.hpp"

#include <fmt/format.h>

#include <span>

namespace penstock {
namespace {

/// Whether an action reads the tensor of a transfer.
bool is_reader(const Plan& plan, TaskId task, TaskId transfer) {
  if (plan.microbatch[task] != plan.microbatch[transfer]) return false;
  const Pass pass = plan.class_of(task).pass;
  switch (plan.class_of(transfer).pass) {
    case Pass::send_activation:
      return pass == Pass::forward;
    case Pass::send_gradient:
      return pass == Pass::recompute || gives_gradient(pass);
    default:
      return reads_activation(pass);
  }
}

/// The tensor that an action reads, by its own pass: activations come from the previous model
/// stage, gradients from the next, and evicted tensors from the action's own stage.
TensorLabel read_by(const Plan& plan, TaskId task, bool comes_back) {
  const WorkClass& work = plan.class_of(task);
  const std::uint32_t stage = plan.model_stage[index(work.stage)];
  const Microbatch microbatch = plan.microbatch[task];
  if (comes_back) return {false, stage, microbatch, 0};
  const bool gradient = work.pass != Pass::forward;
  return {gradient, gradient ? stage + 1 : stage - 1, microbatch, 0};
}

TensorLabel made_by(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  return {gives_gradient(work.pass), plan.model_stage[index(work.stage)], plan.microbatch[task], 0};
}

/// The first action of an overlap cell waits for the inputs of both, so the reader may be the next
/// one when it lists no inputs.
Reading reading_of(const Plan& plan, TaskId task, TaskId next, TaskId transfer) {
  const bool for_next = !is_reader(plan, task, transfer) && next != no_task &&
                        plan.input[next] == no_task && is_reader(plan, next, transfer);
  const bool comes_back = plan.class_of(transfer).pass == Pass::send_loaded;
  return {transfer, read_by(plan, for_next ? next : task, comes_back)};
}

/// What a transfer waits for: the action that requests it, and the transfer that it reverses.
struct Origin {
  TaskId action = no_task;
  TaskId brings_back = no_task;
  bool other = false;  // waits for other tasks
};

Origin origin_of(const Plan& plan, TaskId transfer) {
  Origin origin;
  plan.for_each_input(transfer, [&](TaskId input) {
    const bool evicted = plan.class_of(input).pass == Pass::send_evicted;
    TaskId& place = evicted ? origin.brings_back : origin.action;
    if (place != no_task || (!evicted && is_transfer(plan.class_of(input).pass))) {
      origin.other = true;
    }
    place = input;
  });
  return origin;
}

std::optional<std::string> why_not_transfer(const Plan& plan, TaskId task,
                                            std::vector<std::uint32_t>& asker) {
  const Origin origin = origin_of(plan, task);
  if (origin.other || origin.action == no_task) {
    return fmt::format("{} waits for more than the action that requests it", task_text(plan, task));
  }
  const std::uint32_t rank = plan.class_of(origin.action).resource;
  std::uint32_t& known = asker[plan.class_of(task).resource - plan.ranks];
  if (known == UINT32_MAX) known = rank;
  if (known == rank) return std::nullopt;
  return fmt::format("ranks {} and {} both request transfers over one link", known, rank);
}

std::optional<std::string> why_not_action(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  std::optional<std::string> reason;
  plan.for_each_input(task, [&](TaskId input) {
    const std::uint32_t from = plan.class_of(input).resource;
    if (plan.is_link(from) && index(plan.link(from).to) == work.resource) return;
    reason =
        fmt::format("{} reads a tensor that no transfer brings to its rank", task_text(plan, task));
  });
  return reason;
}

RankProgram program_of(const Plan& plan, std::span<const TaskId> order) {
  RankProgram program;
  program.reserve(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    const TaskId next = at + 1 < order.size() ? order[at + 1] : no_task;
    Step& step = program.emplace_back(Step{order[at], made_by(plan, order[at]), {}, {}});
    plan.for_each_input(step.task, [&](TaskId input) {
      step.reads.push_back(reading_of(plan, step.task, next, input));
    });
  }
  return program;
}

/// Adds the transfers of each action, in plan order.
void add_sendings(const Plan& plan, std::vector<RankProgram>& programs) {
  std::vector<Step*> step_of(plan.tasks());
  for (RankProgram& program : programs) {
    for (Step& step : program) step_of[step.task] = &step;
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) continue;
    const Origin origin = origin_of(plan, task);
    const Rank to = plan.link(resource).to;
    const bool stays = plan.class_of(task).pass == Pass::send_evicted;  // until it is requested
    const std::uint32_t reader = stays ? plan.class_of(origin.action).resource : index(to);
    step_of[origin.action]->sends.push_back(
        {task, resource - plan.ranks, reader, origin.brings_back});
  }
}

}  // namespace

std::optional<std::string> why_no_programs(const Plan& plan) {
  for (const WorkClass& work : plan.classes) {
    if (work.partner != UINT32_MAX) return "overlap cells that run fused";
    if (is_tail(work.pass))
      return "collectives or updates after the last gradients of an iteration";
  }
  std::vector<std::uint32_t> asker(plan.links.size(), UINT32_MAX);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    auto reason = plan.is_link(plan.class_of(task).resource) ? why_not_transfer(plan, task, asker)
                                                             : why_not_action(plan, task);
    if (reason) return reason;
  }
  return std::nullopt;
}

std::vector<RankProgram> rank_programs(const Plan& plan) {
  const ResourceOrders orders = resource_orders(plan);
  std::vector<RankProgram> programs;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const TaskId* const tasks = orders.tasks.data();
    programs.push_back(
        program_of(plan, {tasks + orders.first[rank], tasks + orders.first[rank + 1]}));
  }
  add_sendings(plan, programs);
  return programs;
}

}  // namespace penstock
