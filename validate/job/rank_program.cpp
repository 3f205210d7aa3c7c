#include "validate/job/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sim/engines/transfers.hpp"
#include "sim/plan/transfer_readers.hpp"

namespace penstock {
namespace {

/// Whether an action reads the tensor of a transfer.
bool is_reader(const Plan& plan, TaskId task, TaskId transfer) {
  const Pass pass = plan.class_of(task).pass;
  if (is_tail(plan.class_of(transfer).pass)) return pass == Pass::update;
  if (plan.microbatch[task] != plan.microbatch[transfer]) return false;
  switch (plan.class_of(transfer).pass) {
    case Pass::send_activation:
      return pass == Pass::forward;
    case Pass::send_gradient:
      return pass == Pass::recompute || gives_gradient(pass);
    default:
      return reads_activation(pass);
  }
}

TensorKind kind_of(Pass transfer, bool of_gradient) {
  switch (transfer) {
    case Pass::reduce_gradient:
      return TensorKind::weight_gradients;
    case Pass::reduce_early:
      return TensorKind::early_weight_gradients;
    case Pass::tie_gradient:
      return TensorKind::tied_gradient;
    default:
      return of_gradient ? TensorKind::gradient : TensorKind::activation;
  }
}

/// The other end of a chain, for the model stage at one of its ends.
std::uint32_t other_end(const Plan& plan, std::uint32_t stage) {
  return stage > 0 ? 0 : *std::max_element(plan.model_stage.begin(), plan.model_stage.end());
}

/// The tensor that an action reads, by its own pass: activations come from the previous model
/// stage, gradients from the next, sums from the stages that are updated with its own, evicted
/// tensors from its own.
TensorLabel read_by(const Plan& plan, TaskId task, TaskId transfer) {
  const WorkClass& work = plan.class_of(task);
  const Pass brought_by = plan.class_of(transfer).pass;
  const std::uint32_t stage = plan.model_stage[index(work.stage)];
  if (work.pass == Pass::update) {
    const TensorKind kind = kind_of(brought_by, false);
    const bool tied = kind == TensorKind::tied_gradient;
    const std::uint32_t summed = plan.model_stage[index(plan.class_of(transfer).stage)];
    return {kind, tied ? other_end(plan, stage) : summed, plan.microbatch[transfer], 0};
  }
  const Microbatch microbatch = plan.microbatch[task];
  if (brought_by == Pass::send_loaded) return {TensorKind::activation, stage, microbatch, 0};
  if (work.pass == Pass::forward) return {TensorKind::activation, stage - 1, microbatch, 0};
  return {TensorKind::gradient, stage + 1, microbatch, 0};
}

/// What a transfer brings, by the action that makes it; sums are those of the transfer's own stage.
TensorLabel made_by(const Plan& plan, TaskId maker, TaskId transfer) {
  const WorkClass& sent = plan.class_of(transfer);
  const WorkClass& made = plan.class_of(maker);
  const Stage stage = is_tail(sent.pass) ? sent.stage : made.stage;
  const Microbatch microbatch = plan.microbatch[is_tail(sent.pass) ? transfer : maker];
  return {kind_of(sent.pass, gives_gradient(made.pass)), plan.model_stage[index(stage)], microbatch,
          0};
}

/// The first action of an overlap cell waits for the inputs of both, so the reader may be the next
/// one when it lists no inputs.
Reading reading_of(const Plan& plan, TaskId task, TaskId next, TaskId transfer) {
  const bool for_next = !is_reader(plan, task, transfer) && next != no_task &&
                        plan.input[next] == no_task && is_reader(plan, next, transfer);
  return {transfer, transfer, read_by(plan, for_next ? next : task, transfer)};
}

/// Whether an action reads this input of it, where others only hold it up: what it has sent, what
/// was before its tensor in a stream, and weights.
bool reads_written(const Plan& plan, TaskId task, TaskId next, TaskId input) {
  const WorkClass& work = plan.class_of(input);
  if (!plan.is_link(work.resource) || work.pass == Pass::gather_weights) return false;
  const bool comes = index(plan.link(work.resource).to) == plan.class_of(task).resource;
  if (!comes && !is_tail(work.pass)) return false;
  const auto reads = [&](TaskId action) {
    return is_reader(plan, action, input) &&
           read_by(plan, action, input).model_stage == plan.model_stage[index(work.stage)];
  };
  return reads(task) || (next != no_task && plan.input[next] == no_task && reads(next));
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

/// By task, of a plan with written communication: the action that leaves a transfer its tensor, or
/// for weights that are gathered before it, the first action of their rank.
std::vector<TaskId> makers_of_transfers(const Plan& plan) {
  std::vector<TaskId> makers = makers_of_tensors(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource) || passes_on(work.pass)) continue;
    plan.for_each_input(task, [&](TaskId input) {
      if (!plan.is_link(plan.class_of(input).resource)) makers[task] = input;
    });
  }
  const ResourceOrders orders = resource_orders(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass != Pass::gather_weights || makers[task] != no_task) continue;
    const Rank rank = plan.link(plan.class_of(task).resource).from;
    const std::uint32_t first = orders.first[index(rank)];
    if (first < orders.first[index(rank) + 1]) makers[task] = orders.tasks[first];
  }
  return makers;
}

/// All inputs of a task, sorted.
std::vector<TaskId> inputs_of(const Plan& plan, TaskId task) {
  std::vector<TaskId> inputs;
  plan.for_each_input(task, [&](TaskId input) { inputs.push_back(input); });
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

/// The step that runs each action, by task; the steps of a rank never move again.
std::vector<Step*> steps_by_task(const Plan& plan, std::vector<RankProgram>& programs) {
  std::vector<Step*> step_of(plan.tasks());
  for (RankProgram& program : programs) {
    for (Step& step : program) {
      step_of[step.task] = &step;
      if (step.beside != no_task) step_of[step.beside] = &step;
    }
  }
  return step_of;
}

/// The action beside which an early reduction runs: the next weight gradient of its stage and
/// microbatch on the sending rank.
TaskId action_beside(const Plan& plan, TaskId early) {
  const WorkClass& reduction = plan.class_of(early);
  const Rank rank = plan.link(reduction.resource).from;
  for (TaskId task = early + 1; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (work.resource == index(rank) && work.stage == reduction.stage &&
        plan.microbatch[task] == plan.microbatch[early] && ends_activation(work.pass)) {
      return task;
    }
  }
  return no_task;
}

/// The last task of a rank before a step, or no_task.
TaskId task_before(const RankProgram& program, const Step& step) {
  if (&step == program.data()) return no_task;
  const Step& before = *(&step - 1);
  return before.beside != no_task ? before.beside : before.task;
}

/// Whether an early reduction starts exactly when its rank is free and all that its action reads is
/// there: then its rank knows the moment.
bool starts_beside(const Plan& plan, TaskId early, const Step& step, TaskId before) {
  std::vector<TaskId> expected = inputs_of(plan, step.task);
  if (before != no_task) expected.push_back(before);
  std::sort(expected.begin(), expected.end());
  return inputs_of(plan, early) == expected;
}

std::optional<std::string> why_not_transfer(const Plan& plan, TaskId task) {
  if (plan.class_of(task).pass == Pass::reduce_early) return std::nullopt;  // looked at later
  const Origin origin = origin_of(plan, task);
  if (!origin.other && origin.action != no_task) return std::nullopt;
  return fmt::format("{} waits for more than the action that requests it", task_text(plan, task));
}

std::optional<std::string> why_not_action(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  std::optional<std::string> reason;
  plan.for_each_input(task, [&](TaskId input) {
    const WorkClass& brings = plan.class_of(input);
    if (plan.is_link(brings.resource) && index(plan.link(brings.resource).to) == work.resource) {
      return;
    }
    if (is_tail(brings.pass) && work.pass == Pass::update) return;
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
    if (plan.class_of(order[at]).follows_partner) continue;
    const bool fused = next != no_task && plan.class_of(next).follows_partner;
    Step& step = program.emplace_back(Step{order[at], fused ? next : no_task, {}, {}, {}, {}});
    plan.for_each_input(step.task, [&](TaskId input) {
      if (plan.written) {
        step.awaits.push_back(input);
        if (!reads_written(plan, step.task, next, input)) return;
      }
      step.reads.push_back(reading_of(plan, step.task, next, input));
    });
  }
  return program;
}

std::vector<RankProgram> without_sendings(const Plan& plan) {
  const ResourceOrders orders = resource_orders(plan);
  std::vector<RankProgram> programs;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const TaskId* const tasks = orders.tasks.data();
    programs.push_back(
        program_of(plan, {tasks + orders.first[rank], tasks + orders.first[rank + 1]}));
  }
  return programs;
}

/// Numbers the boxes: each reader of a transfer has one. Returns the readers by transfer.
std::vector<std::vector<TensorReader>> number_boxes(const Plan& plan,
                                                    std::vector<RankProgram>& programs) {
  std::vector<std::vector<TensorReader>> readers(plan.tasks());
  std::size_t boxes = plan.tasks();
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    for (Step& step : programs[rank]) {
      for (Reading& reading : step.reads) {
        auto& own = readers[reading.transfer];
        if (!own.empty()) reading.box = boxes++;
        own.push_back({rank, reading.box});
      }
    }
  }
  return readers;
}

/// Adds the transfers of each action, in plan order.
void add_sendings(const Plan& plan, std::vector<RankProgram>& programs) {
  auto readers = number_boxes(plan, programs);
  const std::vector<Step*> step_of = steps_by_task(plan, programs);
  const std::vector<TaskId> makers =
      plan.written ? makers_of_transfers(plan) : std::vector<TaskId>();
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource)) continue;
    const bool early = work.pass == Pass::reduce_early;
    Origin origin = early ? Origin{action_beside(plan, task)} : origin_of(plan, task);
    if (plan.written && !early) origin.action = makers[task];
    // An evicted tensor stays where it is until it is requested.
    if (work.pass == Pass::send_evicted) {
      readers[task].push_back({plan.class_of(origin.action).resource, task});
    }
    Step& step = *step_of[origin.action];
    (early ? step.early : step.sends)
        .push_back({task, work.resource - plan.ranks, made_by(plan, origin.action, task),
                    std::move(readers[task]), origin.brings_back});
  }
}

/// Of communication as written, where more is waited for: a rank must have made what it sends.
std::optional<std::string> why_not_written(const Plan& plan) {
  const std::vector<TaskId> makers = makers_of_transfers(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource)) continue;
    if (!passes_on(work.pass) && !is_tail(work.pass)) {
      if (auto reason = why_not_transfer(plan, task)) return reason;
    }
    bool made = is_tail(work.pass) && makers[task] != no_task;
    plan.for_each_input(task, [&](TaskId input) {
      made = made || (makers[task] != no_task && input >= makers[task] &&
                      plan.class_of(input).resource == plan.class_of(makers[task]).resource);
    });
    if (!made) {
      return fmt::format("{} does not wait for the action that makes its tensor",
                         task_text(plan, task));
    }
  }
  std::vector<bool> read(plan.tasks());
  for (const RankProgram& program : without_sendings(plan)) {
    for (const Step& step : program) {
      for (const Reading& reading : step.reads) read[reading.transfer] = true;
    }
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (!passes_on(plan.class_of(task).pass) || read[task]) continue;
    return fmt::format("no action that waits for {} reads it", task_text(plan, task));
  }
  return std::nullopt;
}

/// Of early reductions, which wait for several tasks.
std::optional<std::string> why_not_early(const Plan& plan) {
  std::vector<RankProgram> programs = without_sendings(plan);
  const std::vector<Step*> step_of = steps_by_task(plan, programs);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass != Pass::reduce_early) continue;
    const TaskId action = action_beside(plan, task);
    if (action != no_task) {
      const RankProgram& program = programs[plan.class_of(action).resource];
      if (starts_beside(plan, task, *step_of[action], task_before(program, *step_of[action]))) {
        continue;
      }
    }
    return fmt::format("{} does not start with a weight gradient", task_text(plan, task));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_no_programs(const Plan& plan) {
  if (plan.written) {
    if (auto reason = why_not_written(plan)) return reason;
    return why_not_early(plan);
  }
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    auto reason = plan.is_link(plan.class_of(task).resource) ? why_not_transfer(plan, task)
                                                             : why_not_action(plan, task);
    if (reason) return reason;
  }
  return why_not_early(plan);
}

std::optional<std::string> why_only_threads(const Plan& plan) {
  if (has_exchanges(plan)) return "exchanges within a rank run on threads alone";
  return std::nullopt;
}

std::vector<RankProgram> rank_programs(const Plan& plan) {
  std::vector<RankProgram> programs = without_sendings(plan);
  add_sendings(plan, programs);
  return programs;
}

std::vector<TaskId> transfers_of_boxes(const Plan& plan, const std::vector<RankProgram>& programs) {
  std::vector<TaskId> transfers;
  for (TaskId task = 0; task < plan.tasks(); ++task) transfers.push_back(task);
  for (const RankProgram& program : programs) {
    for (const Step& step : program) {
      for (const Reading& reading : step.reads) {
        if (reading.box >= transfers.size()) transfers.resize(reading.box + 1);
        transfers[reading.box] = reading.transfer;
      }
    }
  }
  return transfers;
}

bool shares_links(const PricedPlan& priced) {
  const auto is_private = private_links(priced.plan, priced.conditions.network);
  return std::find(is_private.begin(), is_private.end(), false) != is_private.end();
}

std::optional<std::string> why_not_plain(const PricedPlan& priced) {
  for (const WorkClass& work : priced.plan.classes) {
    if (work.partner != UINT32_MAX) return "overlap cells that run fused";
    if (is_tail(work.pass))
      return "collectives or updates after the last gradients of an iteration";
  }
  if (priced.costs.has_launches()) return "launches that take time";
  if (!priced.costs.task_duration.empty()) return "chance: a machine has its own";
  return std::nullopt;
}

}  // namespace penstock
