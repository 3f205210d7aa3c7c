#include "validate/backends/gpu/gpu_job_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "validate/backends/cuda/running/gpu_actions.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"
#include "validate/machine/host.hpp"

namespace penstock {
namespace {

std::uint64_t positive(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
}

GpuPass pass_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
    case Pass::recompute:
      return GpuPass::forward;
    case Pass::backward:
      return GpuPass::backward;
    case Pass::backward_input:
      return GpuPass::input_gradient;
    case Pass::backward_weight:
      return GpuPass::weight_gradient;
    default:
      return GpuPass::none;
  }
}

/// A transfer of a job's work class, without its inputs.
GpuTask transfer_task(const Job& job, std::uint32_t work) {
  GpuTask task{.lane = job.priced.plan.classes[work].resource, .bytes = job.tensor_bytes(work)};
  if (job.real_links) return task;
  task.duration_ns = positive(job.work_ns(work));
  task.latency_ns = positive(job.latency_ns(work));
  return task;
}

/// The uses of buffers by the actions of a rank.
struct BufferUses {
  std::vector<std::uint64_t> keys;   // a microbatch of a stage
  std::vector<std::size_t> actions;  // by action: its own use
  std::set<std::uint64_t> known;

  void add(std::uint64_t key) {
    keys.push_back(key);
    known.insert(key);
  }
};

/// The buffer slots of actions: one per microbatch of a stage, as long as its rank needs it. F also
/// reads what the stage before it, if on the same rank, has made.
void give_slots(const Plan& plan, GpuProgram& program) {
  std::vector<BufferUses> uses(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    BufferUses& own = uses[work.resource];
    const std::uint64_t stage = index(work.stage), microbatch = index(plan.microbatch[task]);
    own.actions.push_back(own.keys.size());
    own.add(stage << 32 | microbatch);
    if (work.pass != Pass::forward || plan.model_stage[stage] == 0) continue;
    const std::uint64_t read = (stage - 1) << 32 | microbatch;
    if (own.known.contains(read)) own.add(read);
  }
  std::vector<std::vector<std::uint32_t>> slots;
  for (const BufferUses& own : uses) slots.push_back(slots_of(own.keys));
  std::vector<std::size_t> next(plan.ranks);
  for (GpuTask& task : program.tasks) {
    if (program.is_transfer(task)) continue;
    task.slot = slots[task.lane][uses[task.lane].actions[next[task.lane]++]];
  }
}

}  // namespace

std::map<std::string, std::string> gpu_environment(const GpuDevice& device, std::uint64_t step_ns,
                                                   GpuWork work, const GpuLayerSizes& sizes,
                                                   std::uint64_t algorithms) {
  const GpuFacts& facts = device.facts();
  std::map<std::string, std::string> all = host_environment();
  all["device"] = facts.name.data();
  all["cc"] = fmt::format("{}.{}", facts.compute_major, facts.compute_minor);
  all["sms"] = fmt::format("{}", facts.sms);
  if (const auto driver = nvidia_driver(file_text("/proc/driver/nvidia/version"))) {
    all["driver"] = *driver;
  }
  all["cudart"] = cuda_version_text(static_cast<std::uint32_t>(facts.runtime));
  all["clock"] = fmt::format("globaltimer, in steps of {} ns", step_ns);
  all["bodies"] = name(work);
  if (const GpuLayerKind* const kind = layer_kind_of(work)) {
    all["layers"] = shape_text(kind->numbers(sizes));
  }
  if (algorithms != 0) {
    all["cublaslt"] = cublaslt_version_text(device.calls().product_library());
    all["algorithms"] = fmt::format("{:016x}", algorithms);
  }
  return all;
}

GpuProgram gpu_program(const Job& job) {
  const Plan& plan = job.priced.plan;
  GpuProgram program{plan.ranks, static_cast<std::uint32_t>(plan.links.size()), {}, {}};
  const std::optional<DeviceLayers>& layers = job.device.layers;
  for (const WorkClass& work : plan.classes) {
    GpuBody body{
        .pass = pass_of(work.pass), .stage = index(work.stage), .recomputes = work.recomputes};
    if (layers && !plan.is_link(work.resource)) {
      body.amount = layers->of_stage[plan.model_stage[index(work.stage)]];
    }
    program.bodies.push_back(body);
  }
  program.tasks.reserve(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t work = plan.work[task];
    const std::uint32_t resource = plan.classes[work].resource;
    GpuTask& made = program.tasks.emplace_back(
        plan.is_link(resource)
            ? transfer_task(job, work)
            : GpuTask{.lane = resource, .duration_ns = positive(job.work_ns(work)), .body = work});
    plan.for_each_input(task, [&](TaskId input) { made.inputs.push_back(input); });
    if (!plan.is_link(resource)) continue;
    // What sends a tensor is the first: where communication is written its receiver may be, too.
    const std::uint32_t sender = index(plan.link(resource).from);
    std::stable_partition(made.inputs.begin(), made.inputs.end(), [&](std::uint32_t input) {
      return plan.class_of(input).resource == sender;
    });
  }
  give_slots(plan, program);
  return program;
}

GpuProgram profile_program(const Job& job, const GpuProgram& whole) {
  const Plan& plan = job.priced.plan;
  GpuProgram program{whole.ranks, whole.links, {}, whole.bodies, whole.sizes};
  std::optional<std::uint32_t> last_transfer;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    const std::uint32_t resource = plan.classes[c].resource;
    if (!plan.is_link(resource)) {
      program.tasks.push_back(
          {.lane = resource, .duration_ns = positive(job.work_ns(c)), .body = c});
    } else if (job.real_links) {
      GpuTask task = transfer_task(job, c);
      if (last_transfer) task.inputs = {*last_transfer};
      last_transfer = static_cast<std::uint32_t>(program.tasks.size());
      program.tasks.push_back(std::move(task));
    }
  }
  return program;
}

}  // namespace penstock
