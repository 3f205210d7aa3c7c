#include "validate/backends/multi/rank_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/backends/cuda/running/gpu_messages.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"

namespace penstock {
namespace {

/// Whether the actions of a job are layers of the GPU.
bool runs_layers_of_gpu(const Job& job) { return layer_kind_of(job.device.work) != nullptr; }

/// Parts of fused cells have the layers of their stage.
void give_layers_to_cells(GpuWork work, std::vector<GpuBody>& bodies) {
  for (GpuBody& body : bodies) {
    if (body.work == work || body.pass == GpuPass::none) continue;
    const auto known = std::find_if(bodies.begin(), bodies.end(), [&](const GpuBody& other) {
      return other.work == work && other.stage == body.stage;
    });
    if (known == bodies.end()) continue;
    body.work = work;
    body.amount = known->amount;
  }
}

GpuPassAt pass_at(const GpuTask& task) { return {task.body, task.slot}; }

/// By work class: its first pass on a rank. A pass that runs in fused cells alone has a class of
/// its own without tasks: one of theirs is its work too.
std::vector<std::optional<GpuPassAt>> first_passes(const Plan& plan, const GpuProgram& whole,
                                                   std::uint32_t rank) {
  std::vector<std::optional<GpuPassAt>> first(plan.classes.size());
  for (TaskId task = plan.tasks(); task-- > 0;) {
    if (plan.class_of(task).resource == rank) first[plan.work[task]] = pass_at(whole.tasks[task]);
  }
  const auto key = [&](std::uint32_t work) {
    const WorkClass& what = plan.classes[work];
    return std::tuple(what.resource, what.stage, what.pass);
  };
  std::map<std::tuple<std::uint32_t, Stage, Pass>, GpuPassAt> known;
  for (std::uint32_t work = 0; work < first.size(); ++work) {
    if (first[work]) known.try_emplace(key(work), *first[work]);
  }
  for (std::uint32_t work = 0; work < first.size(); ++work) {
    const auto found = known.find(key(work));
    if (!first[work] && found != known.end()) first[work] = found->second;
  }
  return first;
}

GpuCall call_of(const CommOp& op, const Channel& channel) {
  return {.kind = op.kind,
          .peer = is_collective(op.kind) ? 0 : channel.position_of(op.peer),
          .ranks = static_cast<std::uint32_t>(channel.members.size()),
          .bytes = moved_bytes(op.bytes),
          .name = op.task};
}

/// The items of a rank without what its actions do.
GpuRankProgram bare_program(const Job& job, const CommPlan& comms, std::uint32_t rank,
                            const RankBodies& bodies) {
  const auto links = static_cast<std::uint32_t>(comms.channels.size());
  GpuRankProgram own{{1, links, {}, bodies.bodies, bodies.sizes}, comms.ranks[rank]};
  for (const RankItem& item : own.items) {
    GpuTask& task = own.program.tasks.emplace_back();
    task.inputs = item.waits;
    if (item.is_action()) {
      const std::int64_t ns = job.task_ns(item.action);
      task.duration_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
      continue;
    }
    task.lane = 1 + item.channel;
    for (const CommOp& op : item.group) {
      task.calls.push_back(call_of(op, comms.channels[item.channel]));
    }
  }
  return own;
}

/// What an action runs; without parts, it waits.
void give_parts(std::vector<GpuPart> parts, GpuTask& action) {
  action.body = parts.empty() ? UINT32_MAX : parts.front().pass.body;
  action.slot = parts.empty() ? 0 : parts.front().pass.slot;
  action.parts = std::move(parts);
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

/// A buffer of its own for each tensor as long as it is needed, by the waits of the plan alone.
/// None, and false, if all buffers would take too much.
bool give_slots(GpuProgram whole, const std::map<TaskId, TaskId>& readers, std::uint64_t most_bytes,
                GpuProgram& own) {
  // Passes wait for what they read.
  for (const auto& [transfer, reader] : readers) whole.tasks[reader].inputs.push_back(transfer);
  const TransferSlots slots = transfer_slots(whole);
  for (GpuTask& task : own.tasks) {
    for (GpuCall& call : task.calls) {
      if (is_collective(call.kind)) continue;
      call.slot = (call.kind == CommKind::send ? slots.from : slots.to)[call.name];
    }
  }
  if (rings_of(own).bytes() <= most_bytes) return true;
  for (GpuTask& task : own.tasks) {
    for (GpuCall& call : task.calls) call.slot = 0;
  }
  return false;
}

/// By action of a rank: what it reads of other ranks, and what it makes for them.
struct RankTensors {
  std::map<TaskId, GpuTensor> reads;
  std::map<TaskId, std::vector<GpuTensor>> makes;
};

RankTensors tensors_of(const Plan& plan, const GpuProgram& whole,
                       const std::map<TaskId, TaskId>& readers, const GpuProgram& own) {
  RankTensors tensors;
  for (const GpuTask& task : own.tasks) {
    for (const GpuCall& call : task.calls) {
      if (!passes_on(plan.class_of(call.name).pass)) continue;
      const GpuTensor tensor{task.lane - own.ranks, call.slot, call.bytes};
      if (call.kind == CommKind::send) {
        tensors.makes[producer_of(whole, call.name)].push_back(tensor);
      } else if (const auto reader = readers.find(call.name); reader != readers.end()) {
        tensors.reads.emplace(reader->second, tensor);
      }
    }
  }
  return tensors;
}

void give_tensors(const RankTensors& tensors, TaskId task, GpuPart& part) {
  const auto reads = tensors.reads.find(task);
  if (reads != tensors.reads.end()) part.reads = reads->second;
  const auto makes = tensors.makes.find(task);
  if (makes != tensors.makes.end()) part.makes = makes->second;
}

using Passes = std::map<PassKey, GpuPassAt>;

/// The passes of a rank by what they are: a plan lists no inputs from the same rank.
Passes passes_of(const Plan& plan, const GpuProgram& whole, std::uint32_t rank) {
  Passes passes;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).resource != rank) continue;
    if (const auto key = key_of(plan, task)) passes[*key] = pass_at(whole.tasks[task]);
  }
  return passes;
}

/// Stages of a chain have consecutive numbers.
void give_neighbours(const Plan& plan, TaskId task, const Passes& passes, GpuPart& part) {
  const auto key = key_of(plan, task);
  if (!key || plan.model_stage[std::get<0>(*key)] == 0) return;
  const bool back = std::get<2>(*key);
  const auto before = passes.find({std::get<0>(*key) - 1, std::get<1>(*key), back});
  if (before == passes.end()) return;
  (back ? part.writes_into : part.reads_from) = before->second;
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

RankBodies rank_bodies(const GpuDevice& device, const Job& job, std::uint32_t rank,
                       const GpuLayerSizes& sizes) {
  const Plan& plan = job.priced.plan;
  const GpuWork work = job.device.work;
  const bool layered = runs_layers_of_gpu(job);
  const GpuProgram whole = gpu_program(job);
  GpuProgram own{1, 0, {}, whole.bodies, sizes};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).resource != rank) continue;
    GpuTask& made = own.tasks.emplace_back(whole.tasks[task]);
    made.lane = 0;
    made.inputs.clear();
    // The time of a cell is that of both parts, and says nothing of either.
    if (layered && plan.class_of(task).partner != UINT32_MAX) made.duration_ns = 0;
  }
  give_amounts(device, work, own);
  if (layered) give_layers_to_cells(work, own.bodies);
  return {own.bodies, sizes, device.most_action_bytes()};
}

GpuRankProgram rank_program(const Job& job, const CommPlan& comms, std::uint32_t rank,
                            const RankBodies& bodies) {
  GpuRankProgram own = bare_program(job, comms, rank, bodies);
  const Plan& plan = job.priced.plan;
  const GpuProgram whole = gpu_program(job);
  RankTensors tensors;
  Passes passes;
  if (runs_layers_of_gpu(job)) {
    const auto readers = readers_of(plan);
    own.carries_layers = give_slots(whole, readers, bodies.most_tensor_bytes, own.program);
    if (own.carries_layers) {
      tensors = tensors_of(plan, whole, readers, own.program);
      passes = passes_of(plan, whole, rank);
    }
  }
  for (std::size_t item = 0; item < own.items.size(); ++item) {
    if (!own.items[item].is_action()) continue;
    std::vector<GpuPart> parts;
    for (const TaskId task : {own.items[item].action, own.items[item].beside}) {
      if (task == no_task) continue;
      GpuPart& part = parts.emplace_back(GpuPart{pass_at(whole.tasks[task])});
      give_tensors(tensors, task, part);
      give_neighbours(plan, task, passes, part);
    }
    give_parts(std::move(parts), own.program.tasks[item]);
  }
  return own;
}

GpuRankProgram rank_profile(const Job& job, const MultiJob& multi, std::uint32_t rank,
                            const RankBodies& bodies) {
  GpuRankProgram own = bare_program(multi.profile, multi.profile_comms, rank, bodies);
  const Plan& plan = job.priced.plan;
  const auto first = first_passes(plan, gpu_program(job), rank);
  for (std::uint32_t item = 0; item < own.items.size(); ++item) {
    GpuTask& task = own.program.tasks[item];
    if (item > 0) task.inputs = {item - 1};
    if (!own.items[item].is_action()) continue;
    const std::uint32_t work = own.items[item].action;
    std::vector<GpuPart> parts;
    for (const std::uint32_t one : {work, plan.classes[work].partner}) {
      if (plan.classes[work].follows_partner || one == no_task || !first[one]) continue;
      parts.push_back({.pass = *first[one]});
    }
    give_parts(std::move(parts), task);
  }
  return own;
}

}  // namespace penstock
