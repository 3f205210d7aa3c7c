#include "experiments/plan/planner/space/framework.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/scenario/hardware_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/settle_hardware.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

bool lists(std::string_view names, std::string_view name) {
  const auto all = split_names(names);
  return std::ranges::find(all, name) != all.end();
}

std::uint64_t stages_of(const LayoutChoice& degrees, const OrderChoice& order) {
  return std::uint64_t{degrees.pipeline} * order.chunks;
}

// Megatron-LM: megatron/training/arguments.py, megatron/core/pipeline_parallel/schedules.py,
// megatron/core/transformer/transformer_config.py.

/// Each device has a piece of the front and of the back of a sequence. Transformer Engine refuses
/// windows where keys and values go around as messages (cp_comm_type p2p, the default).
const char* why_no_megatron_degrees(const TrainingTask& task, const LayoutChoice& degrees) {
  if (degrees.context > 1 && task.window > 0 && task.window < *task.sequence) {
    return "megatron: attention with a window is not split over context groups";
  }
  if (degrees.context > 1 && *task.sequence % (2 * degrees.context) != 0) {
    return "megatron: the sequence does not divide by twice the context degree";
  }
  return nullptr;
}

const char* why_no_megatron_sequence(const TrainingTask& task, bool sequence) {
  if (sequence || task.experts == 1) return nullptr;
  return "megatron: experts and a tensor group need sequence parallelism";
}

/// The last group of microbatches must not be smaller than the pipeline.
const char* why_no_megatron_order(const TrainingTask& /*task*/, const LayoutChoice& degrees,
                                  const OrderChoice& order) {
  if (order.chunks == 1 || degrees.microbatches % degrees.pipeline == 0) return nullptr;
  return "megatron: interleaving needs microbatches that divide by the pipeline";
}

/// Megatron-FSDP, which has levels 2 and 3, runs without a pipeline and is started otherwise.
const char* why_no_megatron_zero(const TrainingTask& task, const LayoutChoice& /*degrees*/,
                                 std::uint32_t zero) {
  const bool sgd = task.optimizer == Optimizer::sgd || task.optimizer == Optimizer::momentum;
  if (sgd && zero == 1) return "megatron: the distributed optimizer is Adam";
  return zero <= 1 ? nullptr : "megatron: the distributed optimizer is ZeRO-1";
}

// torchtitan: torchtitan/distributed/parallel_dims.py and pipeline_parallel.py, and parallelize.py
// of its models.

/// Its divisor of sequences counts the halves of a context group without one too.
const char* why_no_titan_degrees(const TrainingTask& task, const LayoutChoice& degrees) {
  const std::uint64_t shares = std::uint64_t{2} * degrees.context * degrees.tensor;
  if (task.sequence && *task.sequence % shares != 0) {
    return "torchtitan: the sequence does not divide by twice the context and tensor degrees";
  }
  if (task.key_heads % degrees.tensor != 0) {
    return "torchtitan: tensor degree does not divide the key and value heads";
  }
  const std::uint32_t share = degrees.expert_tensor.value_or(degrees.tensor);
  if (degrees.expert > 1 && share != 1) {
    return "torchtitan: groups of experts borrow the tensor group, so each expert is whole";
  }
  if (degrees.expert == 1 && share != degrees.tensor) {
    return "torchtitan: experts without groups are split over the tensor group";
  }
  if (degrees.pipeline > 1 && task.blocks != task.layers + 2) {
    return "torchtitan: a pipeline has one embedding, layers and one head";
  }
  return nullptr;
}

const char* why_no_titan_sequence(const TrainingTask& /*task*/, bool /*sequence*/) {
  return nullptr;
}

/// Without layers per stage there are one or two stages per rank; with them their number follows
/// from the layers, embedding and head included.
const char* why_no_titan_order(const TrainingTask& task, const LayoutChoice& degrees,
                               const OrderChoice& order) {
  if (order.chunks <= 2) return nullptr;
  const std::uint64_t stages = stages_of(degrees, order);
  const std::uint64_t each = (task.blocks + stages - 1) / stages;
  if ((task.blocks + each - 1) / each == stages) return nullptr;
  return "torchtitan: no number of layers per stage gives this many stages";
}

const char* why_no_titan_zero(const TrainingTask& /*task*/, const LayoutChoice& degrees,
                              std::uint32_t zero) {
  if (degrees.data * degrees.context == 1) {
    return zero == 0 ? nullptr : "torchtitan: FSDP shards over data and context replicas";
  }
  const std::uint32_t others = degrees.pipeline * degrees.tensor * degrees.context * degrees.expert;
  if (zero == 1) return "torchtitan: FSDP is ZeRO-2 or ZeRO-3";
  return zero > 0 || others == 1 ? nullptr : "torchtitan: whole replicas (DDP) go alone";
}

// DeepSpeed: deepspeed/runtime/pipe/engine.py and module.py, deepspeed/runtime/config.py,
// deepspeed/module_inject/auto_ep_config.py.

const char* why_no_deepspeed_degrees(const TrainingTask& /*task*/, const LayoutChoice& degrees) {
  if (degrees.context > 1) return "deepspeed: splits sequences by heads, which is not simulated";
  if (degrees.expert > 1 && degrees.pipeline * degrees.tensor > 1) {
    return "deepspeed: groups of experts go without pipeline and tensor groups";
  }
  if (degrees.expert_tensor.value_or(degrees.tensor) != degrees.tensor) {
    return "deepspeed: a tensor group splits its experts";
  }
  return nullptr;
}

const char* why_no_deepspeed_sequence(const TrainingTask& /*task*/, bool sequence) {
  return sequence ? "deepspeed: tensor groups do not shard norms" : nullptr;
}

const char* why_no_deepspeed_order(const TrainingTask& task, const LayoutChoice& degrees,
                                   const OrderChoice& order) {
  if (task.layers % stages_of(degrees, order) == 0) return nullptr;
  return "deepspeed: a cut by layers is even only where the stages divide them";
}

const char* why_no_deepspeed_zero(const TrainingTask& task, const LayoutChoice& degrees,
                                  std::uint32_t zero) {
  if (task.shard_groups > 1 && zero > 0 && zero < 3) {
    return "deepspeed: groups that shard (MiCS) go with ZeRO-3";
  }
  if (zero > 1 && degrees.pipeline > 1) return "deepspeed: a pipeline runs with ZeRO-0 and ZeRO-1";
  const bool splits = degrees.tensor > 1 || degrees.expert > 1;
  if (zero == 3 && splits) return "deepspeed: tensor groups and groups of experts exclude ZeRO-3";
  return nullptr;
}

/// What a framework recomputes by operator holds unless settings state operators.
void take_operators(const Framework& framework, TrainingTask& task) {
  const bool stated = std::ranges::any_of(task.settings, [](const std::string& text) {
    return text.find("/recompute/operators") != text.npos;
  });
  if (stated || framework.operators.empty()) return;
  task.states_operators = true;
  task.settings.insert(task.settings.begin(),
                       fmt::format("/recompute/operators={}", framework.operators));
}

/// Gradients of bf16 are bf16 at every ZeRO level, unless the scenario says what is kept.
void take_gradients(const Framework& framework, const Scenario& plain, TrainingTask& task) {
  if (!framework.sums_narrow || task.dtype != "bf16") return;
  const MemorySection& memory = plain.memory;
  const bool stated = memory.gradients || memory.bytes_per_parameter ||
                      plain.document->at("memory").contains("precision");
  if (!stated) task.changes.emplace_back("/memory/gradients=bf16");
}

/// Kernels of the framework price its layouts; a stated stack, or constants of one, are the user's.
void take_stack_of(const Framework& framework, const Catalogue& catalogue, Scenario plain,
                   TrainingTask& task) {
  const StackChoice& stated = plain.hardware.stack;
  if (!stated.name.empty() || stated.own != StackChoice{}.own) return;
  plain.hardware.usual_stack = framework.stack;
  const auto machine = settle_hardware(plain, &catalogue).spec.machine;
  if (!machine || machine->device.stack.name.empty()) return;
  task.changes.push_back("/hardware/stack=" + machine->device.stack.name);
}

constexpr std::array<Framework, 3> all_frameworks{
    {{.name = "deepspeed",
      .format = "deepspeed-config",
      .schedules = "1f1b",
      .recomputations = "none, full",
      .cuts = "even",
      .dtypes = "bf16, fp16, fp32",
      .stack = "fsdp-eager",  // PyTorch's own kernels, one by one
      .sums_narrow = true,
      .unknown_schedule = "deepspeed does not run the schedule",
      .unknown_overlap = "deepspeed does not overlap so",
      .unknown_offload = "deepspeed does not offload layers",
      .unknown_recomputation = "deepspeed does not recompute so",
      .unknown_cut = "deepspeed does not cut so",
      .why_no_degrees = why_no_deepspeed_degrees,
      .why_no_sequence = why_no_deepspeed_sequence,
      .why_no_order = why_no_deepspeed_order,
      .why_no_zero = why_no_deepspeed_zero},
     {.name = "megatron",
      .format = "megatron-args",
      .schedules = "1f1b, interleaved-1f1b",
      .recomputations = "none, selective, full",
      .cuts = "even, even_with_ends, simulated",
      .other_cuts = "balanced, gpipe, interleaved, least_traffic, memory",
      .dtypes = "bf16, fp16, fp32, fp8, fp8-block, mxfp8, nvfp4",
      .stack = "megatron-bridge",
      .recomputes_some_layers = true,
      .offloads_layers = true,
      .hides_experts = true,
      .unknown_schedule = "megatron does not run the schedule",
      .unknown_overlap = "megatron does not overlap so",
      .unknown_offload = "megatron: layers are offloaded without a pipeline alone",
      .whole_offload = "megatron: one layer at least is not offloaded",
      .unknown_recomputation = "megatron does not recompute so",
      .unknown_cut = "megatron does not cut so",
      .why_no_degrees = why_no_megatron_degrees,
      .why_no_sequence = why_no_megatron_sequence,
      .why_no_order = why_no_megatron_order,
      .why_no_zero = why_no_megatron_zero},
     // The last three by the CSV of their order.
     {.name = "torchtitan",
      .format = "torchtitan-args",
      .schedules = "1f1b, gpipe, interleaved-1f1b, looped-bfs, interleaved-zb, zb-v, dualpipev, "
                   "eager-1f1b, zb-h1, zb-h2",
      .recomputations = "none, selective, full",
      .cuts = "even_with_ends",
      .operators = R"(["mlp","norm"])",
      .dtypes = "bf16, fp8, mxfp8",
      .stack = "fsdp-compiled",
      .unknown_schedule = "torchtitan does not run the schedule",
      .unknown_overlap = "torchtitan does not overlap so",
      .unknown_offload = "torchtitan does not offload layers",
      .unknown_recomputation = "torchtitan does not recompute so",
      .unknown_cut = "torchtitan does not cut so",
      .why_no_degrees = why_no_titan_degrees,
      .why_no_sequence = why_no_titan_sequence,
      .why_no_order = why_no_titan_order,
      .why_no_zero = why_no_titan_zero}}};

}  // namespace

bool Framework::runs(std::string_view schedule) const { return lists(schedules, schedule); }

bool Framework::recomputes(std::string_view mode, bool stages, bool some) const {
  return !stages && (!some || recomputes_some_layers) && lists(recomputations, mode);
}

const char* Framework::why_no_overlap(bool fused, bool hides) const {
  return fused || (hides && !hides_experts) ? unknown_overlap : nullptr;
}

const char* Framework::why_no_offload(const TrainingTask& task, const LayoutChoice& degrees,
                                      std::uint32_t layers) const {
  if (!offloads_layers || degrees.pipeline > 1) return unknown_offload;
  return layers < task.layers ? nullptr : whole_offload;
}

bool Framework::cuts_by(std::string_view partitioner) const {
  return lists(cuts, partitioner) || lists(other_cuts, partitioner);
}

std::span<const Framework> frameworks() { return all_frameworks; }

std::vector<std::string> framework_names() {
  std::vector<std::string> names{"any"};
  for (const Framework& one : all_frameworks) names.emplace_back(one.name);
  return names;
}

const Framework* framework_of(std::string_view name) {
  const auto found = std::ranges::find(all_frameworks, name, &Framework::name);
  return found == all_frameworks.end() ? nullptr : &*found;
}

void set_framework(const Framework* framework, const Catalogue& catalogue, TrainingTask& task) {
  task.framework = framework;
  if (framework == nullptr) return;
  if (!task.by_kind) {
    throw UsageError(fmt::format(
        "--for {}: this model states the times of its layers; a framework needs layers by kind, "
        "such as a config.json or a training command",
        framework->name));
  }
  if (!lists(framework->dtypes, task.dtype)) {
    throw UsageError(fmt::format("--for {}: it does not train in {}; /model/dtype may be {}",
                                 framework->name, task.dtype, framework->dtypes));
  }
  take_operators(*framework, task);
  const Scenario plain = parse_scenario(layout_document(task, stated_layout(task)), task.source);
  // Behind all settings, so that a whole section does not replace them.
  take_gradients(*framework, plain, task);
  take_stack_of(*framework, catalogue, plain, task);
}

const char* why_not_in(const Framework& framework, const TrainingTask& task,
                       const LayoutChoice& choice) {
  const OrderChoice order{.rule = find_named(schedule_entries(), choice.schedule),
                          .chunks = choice.chunks};
  if (!framework.runs(choice.schedule)) return framework.unknown_schedule;
  if (choice.module)
    return "an encoder that is not cut with the others is no layout of a framework yet";
  if (const char* why = framework.why_no_zero(task, choice, choice.zero)) return why;
  if (const char* why = framework.why_no_overlap(choice.fused, choice.hides_experts)) return why;
  if (!framework.recomputes(choice.recompute, choice.recomputes_stages, choice.layers > 0)) {
    return framework.unknown_recomputation;
  }
  if (choice.offloaded_layers > 0) {
    const std::uint32_t layers = choice.offloaded_layers;
    if (const char* why = framework.why_no_offload(task, choice, layers)) return why;
  }
  if (!framework.cuts_by(choice.partition)) return framework.unknown_cut;
  if (const char* why = framework.why_no_degrees(task, choice)) return why;
  if (const char* why = framework.why_no_order(task, choice, order)) return why;
  const bool shards = choice.tensor > 1;
  return shards ? framework.why_no_sequence(task, choice.sequence_parallel) : nullptr;
}

}  // namespace penstock
