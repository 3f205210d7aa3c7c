#include "validate/backends/multi/rank_work.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "validate/backends/cuda/programs/gpu_slots.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"

namespace penstock {
namespace {

/// Whether the actions of a job are layers of the GPU.
bool runs_layers_of_gpu(const Job& job) {
  return layer_kind_of(gpu_work(job.device.work)) != nullptr;
}

/// A pass that runs in fused cells alone has a class of its own without tasks: one of theirs is its
/// work too.
void find_pass_of_unused(const Plan& plan, GpuRankProgram& own) {
  std::map<std::tuple<std::uint32_t, Stage, Pass>, std::uint32_t> known;
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    const WorkClass& what = plan.classes[work];
    if (own.of_class[work] == no_task) continue;
    known.try_emplace({what.resource, what.stage, what.pass}, own.of_class[work]);
  }
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    const WorkClass& what = plan.classes[work];
    const auto found = known.find({what.resource, what.stage, what.pass});
    if (own.of_class[work] == no_task && found != known.end()) own.of_class[work] = found->second;
  }
}

RankWork bare_work(const Job& job, const CommPlan& comms, std::uint32_t rank) {
  RankWork work{.rank = rank, .channels = comms.channels, .items = comms.ranks[rank]};
  for (const RankItem& item : work.items) {
    const std::int64_t ns = item.is_action() ? job.task_ns(item.action) : 0;
    work.duration_ns.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
  }
  return work;
}

/// By channel: the largest tensor of a rank.
std::vector<std::uint64_t> largest_tensors(const RankWork& work) {
  std::vector<std::uint64_t> largest(work.channels.size());
  for (const RankItem& item : work.items) {
    for (const CommOp& op : item.group) {
      largest[item.channel] = std::max(largest[item.channel], moved_bytes(op.bytes));
    }
  }
  return largest;
}

/// F, or B and I, of a stage and microbatch.
using PassKey = std::tuple<std::uint32_t, std::uint32_t, bool>;

std::optional<PassKey> key_of(const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (work.pass != Pass::forward && !gives_gradient(work.pass)) return std::nullopt;
  return PassKey{index(work.stage), index(plan.microbatch[task]), work.pass != Pass::forward};
}

/// By transfer between stages: the pass that reads it. A plan lists it as an input of the first
/// task of an overlap cell, or of a recomputation in front, and these do not read it.
std::map<TaskId, TaskId> readers_of(const Plan& plan) {
  std::map<PassKey, TaskId> passes;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (const auto key = key_of(plan, task)) passes[*key] = task;
  }
  std::map<TaskId, TaskId> readers;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!passes_on(work.pass)) continue;
    const bool back = work.pass == Pass::send_gradient;
    const std::uint32_t stage = back ? index(work.stage) - 1 : index(work.stage) + 1;
    const auto reader = passes.find({stage, index(plan.microbatch[task]), back});
    if (reader != passes.end()) readers.emplace(task, reader->second);
  }
  return readers;
}

/// The program of a job, in which passes wait for what they read.
GpuProgram program_of_readers(const Job& job, const std::map<TaskId, TaskId>& readers) {
  GpuProgram program = gpu_program(job);
  for (const auto& [transfer, reader] : readers) program.tasks[reader].inputs.push_back(transfer);
  return program;
}

/// A buffer of its own for each tensor as long as it is needed, by the waits of the plan alone.
/// None if all buffers would take too much.
void give_slots(const Job& job, const std::map<TaskId, TaskId>& readers, RankWork& work) {
  constexpr std::uint64_t most_bytes = std::uint64_t{16} << 30;
  const TransferSlots slots = transfer_slots(program_of_readers(job, readers));
  work.rings.resize(work.channels.size());
  for (const RankItem& item : work.items) {
    auto& own = work.slots.emplace_back();
    for (const CommOp& op : item.group) {
      RankRing& ring = work.rings[item.channel];
      const bool sends = op.kind == CommKind::send;
      const bool receives = op.kind == CommKind::receive;
      own.push_back(sends ? slots.from[op.task] : receives ? slots.to[op.task] : 0);
      if (sends) ring.sent = std::max(ring.sent, own.back() + 1);
      if (receives) ring.received = std::max(ring.received, own.back() + 1);
    }
  }
  const std::vector<std::uint64_t> largest = largest_tensors(work);
  std::uint64_t bytes = 0;
  for (std::size_t channel = 0; channel < largest.size(); ++channel) {
    bytes += largest[channel] * (work.rings[channel].sent + work.rings[channel].received);
  }
  if (bytes <= most_bytes) return;
  work.slots.clear();
  work.rings.clear();
}

/// By action of a rank: what it reads of other ranks, and what it makes for them.
struct RankTensors {
  std::map<TaskId, RankTensor> reads;
  std::map<TaskId, std::vector<RankTensor>> makes;
};

RankTensors tensors_of(const Job& job, const std::map<TaskId, TaskId>& readers,
                       const RankWork& work) {
  const GpuProgram whole = gpu_program(job);
  RankTensors tensors;
  for (std::size_t item = 0; item < work.slots.size(); ++item) {
    const RankItem& what = work.items[item];
    for (std::size_t at = 0; at < what.group.size(); ++at) {
      const CommOp& op = what.group[at];
      if (!passes_on(job.priced.plan.class_of(op.task).pass)) continue;
      const RankTensor tensor{what.channel, work.slots[item][at], op.bytes};
      if (op.kind == CommKind::send) {
        tensors.makes[producer_of(whole, op.task)].push_back(tensor);
      } else if (const auto reader = readers.find(op.task); reader != readers.end()) {
        tensors.reads.emplace(reader->second, tensor);
      }
    }
  }
  return tensors;
}

void give_tensors(const RankTensors& tensors, TaskId task, RankAction& action) {
  const auto reads = tensors.reads.find(task);
  if (reads != tensors.reads.end()) action.reads = reads->second;
  const auto makes = tensors.makes.find(task);
  if (makes != tensors.makes.end()) action.makes = makes->second;
}

/// The passes of a rank by what they are: a plan lists no inputs from the same rank.
std::map<PassKey, std::uint32_t> passes_of(const Plan& plan, const GpuRankProgram& program) {
  std::map<PassKey, std::uint32_t> passes;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (program.of_task[task] == no_task) continue;
    if (const auto key = key_of(plan, task)) passes[*key] = program.of_task[task];
  }
  return passes;
}

/// Stages of a chain have consecutive numbers.
void give_neighbours(const Plan& plan, TaskId task, const std::map<PassKey, std::uint32_t>& passes,
                     RankAction& action) {
  const auto key = key_of(plan, task);
  if (!key || plan.model_stage[std::get<0>(*key)] == 0) return;
  const bool back = std::get<2>(*key);
  const auto before = passes.find({std::get<0>(*key) - 1, std::get<1>(*key), back});
  if (before == passes.end()) return;
  (back ? action.writes_into : action.reads_from) = before->second;
}

/// The channel that carries what another one does, of plans of the same ranks.
std::uint32_t same_channel(const Channel& wanted, const std::vector<Channel>& channels) {
  const auto fits = [&](bool by_name) {
    return std::find_if(channels.begin(), channels.end(), [&](const Channel& one) {
      return by_name ? one.name == wanted.name
                     : one.members == wanted.members && !one.is_collective;
    });
  };
  const auto named = fits(true);
  return static_cast<std::uint32_t>((named != channels.end() ? named : fits(false)) -
                                    channels.begin());
}

/// Tensors of a pair are measured one by one.
CommPlan profile_comms_of(const Job& profile, const std::vector<Channel>& channels) {
  CommPlan comms = comm_plan(profile.priced, ChannelRule::per_direction);
  for (auto& items : comms.ranks) {
    for (RankItem& item : items) {
      if (!item.is_action()) {
        item.channel = same_channel(comms.channels[item.channel], channels);
      }
    }
  }
  comms.channels = channels;
  return comms;
}

}  // namespace

Plan profile_plan(const Plan& plan) {
  Plan profile = plan;
  profile.followers.clear();
  profile.inputs.clear();
  profile.work.clear();
  profile.microbatch.clear();
  profile.input.clear();
  for (std::uint32_t work = 0; work < profile.classes.size(); ++work) {
    profile.classes[work].partner = UINT32_MAX;
    profile.classes[work].follows_partner = false;
    add_task(profile, work, Microbatch{0}, no_task);
  }
  return profile;
}

MultiJob multi_job(const Job& job, ChannelRule rule) {
  MultiJob made{comm_plan(job.priced, rule), job, {}};
  made.profile.priced.plan = profile_plan(job.priced.plan);
  made.profile.priced.costs.task_duration.clear();
  made.profile.priced.costs.task_latency.clear();
  made.profile_comms = profile_comms_of(made.profile, made.comms.channels);
  return made;
}

std::uint64_t moved_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t least_bytes = 256;  // also a word of each of 64 ranks
  return std::max(bytes / 2 * 2, least_bytes);
}

GpuRankProgram gpu_rank_program(const Job& job, std::uint32_t rank, const GpuLayerSizes& sizes) {
  const Plan& plan = job.priced.plan;
  const GpuProgram whole = gpu_program(job);
  const bool layered = runs_layers_of_gpu(job);
  GpuRankProgram own{{1, 0, {}, whole.bodies, sizes},
                     std::vector<std::uint32_t>(plan.tasks(), no_task),
                     std::vector<std::uint32_t>(plan.classes.size(), no_task)};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).resource != rank) continue;
    const auto number = static_cast<std::uint32_t>(own.program.tasks.size());
    own.of_task[task] = number;
    std::uint32_t& first = own.of_class[plan.work[task]];
    first = std::min(first, number);
    GpuTask& made = own.program.tasks.emplace_back(whole.tasks[task]);
    made.lane = 0;
    made.inputs.clear();
    // The time of a cell is that of both parts, and says nothing of either.
    if (layered && plan.class_of(task).partner != UINT32_MAX) made.duration_ns = 0;
  }
  find_pass_of_unused(plan, own);
  return own;
}

RankWork rank_work(const Job& job, const CommPlan& comms, const GpuRankProgram& program,
                   std::uint32_t rank) {
  RankWork work = bare_work(job, comms, rank);
  const Plan& plan = job.priced.plan;
  const auto readers = runs_layers_of_gpu(job) ? readers_of(plan) : std::map<TaskId, TaskId>{};
  if (runs_layers_of_gpu(job)) give_slots(job, readers, work);
  const RankTensors tensors = work.slots.empty() ? RankTensors{} : tensors_of(job, readers, work);
  const auto passes =
      work.slots.empty() ? std::map<PassKey, std::uint32_t>{} : passes_of(plan, program);
  for (const RankItem& item : work.items) {
    auto& actions = work.actions.emplace_back();
    if (!item.is_action()) continue;
    for (const TaskId task : {item.action, item.beside}) {
      if (task == no_task) continue;
      RankAction& action = actions.emplace_back(RankAction{.task = program.of_task[task]});
      give_tensors(tensors, task, action);
      give_neighbours(plan, task, passes, action);
    }
  }
  return work;
}

RankWork profile_work(const Job& job, const MultiJob& multi, const GpuRankProgram& program,
                      std::uint32_t rank) {
  RankWork work = bare_work(multi.profile, multi.profile_comms, rank);
  work.in_one_stream = true;
  const Plan& plan = job.priced.plan;
  for (const RankItem& item : work.items) {
    auto& actions = work.actions.emplace_back();
    if (!item.is_action() || plan.classes[item.action].follows_partner) continue;
    for (const std::uint32_t one : {item.action, plan.classes[item.action].partner}) {
      if (one == no_task || program.of_class[one] == no_task) continue;
      actions.push_back({.task = program.of_class[one]});
    }
  }
  return work;
}

}  // namespace penstock
