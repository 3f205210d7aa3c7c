#include "experiments/input/formats/megatron/megatron_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

using Limit = TransformerLimits;
using Notes = std::vector<std::string>;

std::optional<std::uint32_t> count_of(const MegatronCommand& command, const char* name,
                                      double most) {
  const auto value = command.whole(name, most);
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// The processes that torchrun starts on all nodes, if stated.
std::optional<std::uint32_t> devices_of(MegatronCommand& command) {
  const auto per_node = command.whole_if_known("--nproc-per-node", Limits::ranks);
  const auto nodes = command.whole_if_known("--nnodes", Limits::ranks);
  if (!per_node || (command.has("--nnodes") && !nodes)) return std::nullopt;
  return static_cast<std::uint32_t>(std::min(*per_node * nodes.value_or(1), 1e9));
}

/// Megatron-LM refuses experts in tensor groups without it, so text that is left out states it.
bool shards_norms(const MegatronCommand& command, const TrainingCommand& training, Notes& notes) {
  if (command.has("--sequence-parallel")) return true;
  if (!command.has("--num-experts") || *training.tensor == 1) return false;
  constexpr const char* why =
      "Megatron-LM refuses experts in tensor groups without --sequence-parallel";
  if (!command.leaves_out()) command.fail("--num-experts", fmt::format("{}; add it", why));
  notes.push_back(fmt::format("{}, which is assumed: text of the script is left out", why));
  return true;
}

/// As Megatron-LM has it, experts are split over the tensor group.
std::optional<std::uint32_t> expert_tensor_of(const MegatronCommand& command,
                                              const TrainingCommand& training) {
  if (!command.has("--num-experts")) return std::nullopt;
  const auto stated = count_of(command, "--expert-tensor-parallel-size", Limits::ranks);
  return stated || *training.expert == 1 ? stated : training.tensor;
}

/// Megatron-FSDP shards as its strategy says, FSDP2 everything; the distributed optimizer is
/// ZeRO-1.
std::uint32_t zero_of(const MegatronCommand& command) {
  if (command.has("--use-torch-fsdp2")) {
    return command.has("--torch-fsdp2-no-reshard-after-forward") ? 2 : 3;
  }
  const auto strategy = command.one_of("--data-parallel-sharding-strategy",
                                       {"no_shard", "optim", "optim_grads", "optim_grads_params"});
  const bool own = command.has("--use-megatron-fsdp") || command.has("--use-custom-fsdp");
  if (!own) return command.has("--use-distributed-optimizer") ? 1 : 0;
  if (strategy == "optim_grads_params") return 3;
  return strategy == "optim_grads" ? 2 : strategy == "optim" ? 1 : 0;
}

/// Keys and values go around as messages, the default.
void refuse_exchanges(const MegatronCommand& command, const TrainingCommand& training) {
  constexpr const char* name = "--cp-comm-type";
  if (*training.context == 1) return;
  for (const std::string& type : command.words(name)) {
    if (type == "p2p") continue;
    command.fail(name, fmt::format("\"{}\" is not simulated; known: p2p", shortened(type)));
  }
}

/// Of arguments that are not simulated, those that change the training.
void refuse_others(const MegatronCommand& command, const TrainingCommand& training) {
  constexpr double all = 1, most_zero = 3;
  if (*training.pipeline > 1 && command.has("--use-tp-pp-dp-mapping")) {
    command.fail("--use-tp-pp-dp-mapping",
                 "replicas outside pipelines are not simulated; leave it out");
  }
  if (command.whole("--zero-stage", most_zero, 0).value_or(0) > 0) {
    command.fail("--zero-stage", "it is not read; leave it out and state \"zero\" in /memory");
  }
  if (command.has("--optimizer-cpu-offload") &&
      command.rate("--optimizer-offload-fraction", all).value_or(all) > 0) {
    command.fail("--optimizer-cpu-offload", "optimizer state on the host is not simulated");
  }
}

/// Without a method, Megatron-LM recomputes each layer alone.
void take_full_recomputation(const MegatronCommand& command, TrainingCommand& training) {
  training.recompute = RecomputeMode::full;
  const auto method = command.one_of("--recompute-method", {"uniform", "block"});
  const auto layers = count_of(command, "--recompute-num-layers", Limit::layers).value_or(1);
  if (method == "block") training.recompute_layers = layers;
  if (method == "uniform" && layers > 1) training.recompute_together = layers;
}

/// Modules of --recompute-modules, and the operators of a scenario.
constexpr std::array<std::array<std::string_view, 2>, 7> known_modules{
    {{"core_attn", "core_attention"},
     {"mla_up_proj", "mla_up_projection"},
     {"mlp", "mlp"},
     {"moe", "moe"},
     {"moe_act", "moe_activation"},
     {"layernorm", "norm"},
     {"shared_experts", "shared_experts"}}};

/// The operators of --recompute-modules; unknown ones are noted.
std::vector<std::string> selected_operators(const MegatronCommand& command, Notes& notes) {
  std::vector<std::string> operators;
  std::vector<std::string> others;
  for (const std::string& module : command.words("--recompute-modules")) {
    const auto found =
        std::ranges::find_if(known_modules, [&](const auto& pair) { return pair[0] == module; });
    if (found == known_modules.end()) {
      others.push_back(module);
    } else {
      operators.emplace_back((*found)[1]);
    }
  }
  if (others.empty()) return operators;
  if (operators.empty()) operators.emplace_back("core_attention");
  notes.push_back(fmt::format("--recompute-modules {}: not modelled; recomputed: {}",
                              shortened(fmt::format("{}", fmt::join(others, " "))),
                              fmt::join(operators, ", ")));
  return operators;
}

void take_recomputation(const MegatronCommand& command, TrainingCommand& training, Notes& notes) {
  const auto granularity = command.one_of("--recompute-granularity", {"full", "selective"});
  if (granularity == "full") return take_full_recomputation(command, training);
  const bool experts = command.has("--moe-layer-recompute");  // as --recompute-modules moe
  if (!granularity && !command.has("--recompute-activations") && !experts) {
    training.recompute = RecomputeMode::none;
    return;
  }
  training.recompute = RecomputeMode::selective;
  training.recompute_operators = selected_operators(command, notes);
  if (experts) training.recompute_operators.emplace_back("moe");
}

/// Megatron-LM's SGD has momentum unless it is set to zero.
std::optional<Optimizer> optimizer_of(const MegatronCommand& command, Notes& notes) {
  constexpr double usual_momentum = 0.9;
  const std::string name = command.word("--optimizer").value_or("adam");
  if (name == "sgd") {
    const double momentum = command.rate("--sgd-momentum", 1).value_or(usual_momentum);
    return momentum > 0 ? Optimizer::momentum : Optimizer::sgd;
  }
  if (name != "adam") {
    notes.push_back(fmt::format(
        "--optimizer {}: two moments per parameter are assumed, as for Adam", shortened(name)));
  }
  return Optimizer::adam;
}

/// Of products below 16 bits; empty: none. Without a recipe that is known, each tensor has a scale.
std::string_view narrow_dtype(const MegatronCommand& command) {
  const std::string recipe = command.word("--fp8-recipe").value_or("");
  std::string_view found;
  for (const MegatronDtype& one : megatron_dtypes()) {
    const bool meant = command.has(one.argument) && (found.empty() || one.recipe == recipe);
    if (meant) found = one.dtype;
  }
  return found;
}

/// Weights in MXFP8 that share the buffer of gradients arrive there in bf16.
bool gathers_narrow(const MegatronCommand& command) {
  return command.has("--fp4-param-gather") ||
         (command.has("--fp8-param-gather") && !command.has("--reuse-grad-buf-for-mxfp8-param-ag"));
}

/// Megatron-LM defaults to fp32, which is rarely intended.
std::string dtype_of(const MegatronCommand& command, Notes& notes) {
  if (command.has("--bf16") && command.has("--fp16")) {
    command.fail("--fp16", "it conflicts with --bf16; give one of them");
  }
  const std::string_view narrow = narrow_dtype(command);
  if (!narrow.empty() && (command.has("--bf16") || command.has("--fp16"))) {
    return std::string(narrow);
  }
  if (command.has("--bf16")) return "bf16";
  if (command.has("--fp16")) return "fp16";
  notes.emplace_back(
      "neither --bf16 nor --fp16: the command trains in fp32; for bf16 add --bf16 or set "
      "/model/dtype=bf16");
  return "fp32";
}

/// What `flex` sends with, DeepEP or HybridEP, sends a token to a device or machine once. The
/// default is allgather.
std::optional<TokenDispatch> dispatcher_of(const MegatronCommand& command, Notes& notes) {
  constexpr const char* name = "--moe-token-dispatcher-type";
  if (!command.has("--num-experts")) return std::nullopt;
  const std::string type = command.word(name).value_or("allgather");
  if (type == "flex") return TokenDispatch::deduplicated;
  if (type != "alltoall") {
    notes.push_back(fmt::format("{} {}{}: tokens are exchanged by all-to-all", name,
                                shortened(type), command.has(name) ? "" : ", the default"));
  }
  return TokenDispatch::alltoall;
}

}  // namespace

std::vector<std::string> recompute_modules(const std::vector<std::string>& operators) {
  std::vector<std::string> modules;
  for (const auto& [module, name] : known_modules) {
    if (std::ranges::find(operators, name) == operators.end()) continue;
    modules.emplace_back(module);
  }
  return modules;
}

std::span<const MegatronDtype> megatron_dtypes() {
  static constexpr std::array dtypes{
      MegatronDtype{"fp8", "--fp8-format", "hybrid", "tensorwise", "--fp8-param-gather"},
      MegatronDtype{"fp8-block", "--fp8-format", "e4m3", "blockwise", "--fp8-param-gather"},
      MegatronDtype{"mxfp8", "--fp8-format", "e4m3", "mxfp8", "--fp8-param-gather"},
      MegatronDtype{"nvfp4", "--fp4-format", "e2m1", "", "--fp4-param-gather"}};
  return dtypes;
}

TrainingCommand megatron_training(MegatronCommand& command, const MegatronStages& cut,
                                  std::vector<std::string>& notes) {
  constexpr double most = 1e9;
  TrainingCommand training;
  training.tensor = count_of(command, "--tensor-model-parallel-size", Limits::ranks).value_or(1);
  training.pipeline = cut.pipeline;
  training.chunks = cut.chunks;
  training.context = count_of(command, "--context-parallel-size", Limits::ranks).value_or(1);
  training.expert = count_of(command, "--expert-model-parallel-size", Limits::ranks).value_or(1);
  training.expert_tensor = expert_tensor_of(command, training);
  refuse_exchanges(command, training);
  refuse_others(command, training);
  training.devices = devices_of(command);
  training.microbatch = count_of(command, "--micro-batch-size", most);
  training.global_batch = count_of(command, "--global-batch-size", most);
  if (!training.global_batch) training.microbatches = 1;  // of each replica, the default
  training.sequence = command.whole("--seq-length", Limit::positions);
  training.sequence_parallel = shards_norms(command, training, notes);
  training.scatter_gather = !command.has("--no-scatter-gather-tensors-in-pipeline");
  training.overlap_gathers = command.has("--overlap-param-gather");
  training.overlap_sums = command.has("--overlap-grad-reduce");
  training.overlap_experts = command.has("--overlap-moe-expert-parallel-comm");
  training.overlap_shared_expert = command.has("--moe-shared-expert-overlap");
  training.dispatcher = dispatcher_of(command, notes);
  training.dtype = dtype_of(command, notes);
  training.narrow_gathers = gathers_narrow(command);
  training.fp8_attention =
      command.has("--fp8-dot-product-attention") || command.has("--fp8-multi-head-attention");
  take_recomputation(command, training, notes);
  const auto offloaded = command.whole("--cpu-offloading-num-layers", Limit::layers, 0);
  if (offloaded.value_or(0) > 0) training.offload_layers = static_cast<std::uint32_t>(*offloaded);
  training.optimizer = optimizer_of(command, notes);
  training.zero = zero_of(command);
  training.stack = "megatron-bridge";
  if (training.zero > 0U) {
    training.shard_groups =
        count_of(command, "--num-distributed-optimizer-instances", Limits::ranks);
  }
  return training;
}

}  // namespace penstock
