#include "experiments/input/formats/megatron/megatron_launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/formats/megatron/megatron_training.hpp"

namespace penstock {
namespace {

using Arguments = std::vector<MegatronArgument>;

/// The first layer of a kind; nullptr: none.
const LayerSpec* first_of(const ModelSpec& model, std::string_view kind) {
  for (const BlockSpec& block : model.blocks) {
    if (block.predicts_further) continue;
    for (const LayerSpec& part : block.parts) {
      if (part.kind == kind) return &part;
    }
  }
  return nullptr;
}

double number_of(const LayerSpec* layer, std::string_view name, double missing = 0) {
  return layer == nullptr ? missing : layer->number(name, missing);
}

/// Collects the arguments of a model.
class ModelWriter {
 public:
  ModelWriter(const ModelSpec& model, std::optional<double> sequence)
      : model_(model),
        sequence_(sequence),
        attention_(first_of(model, "attention")),
        latent_(first_of(model, "mla")),
        mlp_(first_of(model, "mlp")),
        moe_(first_of(model, "moe")) {}

  Arguments written() {
    write_sizes();
    latent_ != nullptr ? write_latent() : write_attention();
    write_vocabulary();
    write_details();
    if (moe_ != nullptr) write_experts();
    return std::move(all_);
  }

 private:
  void number(const char* name, double value) { all_.push_back({name, json_number(value)}); }
  void number(const char* name, const LayerSpec* layer, std::string_view key) {
    if (const double value = number_of(layer, key); value != 0) number(name, value);
  }
  void flag(const char* name, bool holds) {
    if (holds) all_.push_back({name});
  }

  void write_sizes() {
    const auto count = [&](auto holds) {
      return static_cast<double>(std::ranges::count_if(model_.blocks, holds));
    };
    const LayerSpec* attention = latent_ != nullptr ? latent_ : attention_;
    number("--num-layers", count([](const BlockSpec& block) { return block.cut_evenly; }));
    number("--hidden-size", attention, "hidden");
    number("--num-attention-heads", attention, "heads");
    number("--ffn-hidden-size", mlp_ != nullptr ? number_of(mlp_, "intermediate")
                                                : number_of(moe_, "expert_intermediate"));
    flag("--swiglu", number_of(mlp_ != nullptr ? mlp_ : moe_, "gated") != 0);
    const double further = count([](const BlockSpec& block) { return block.predicts_further; });
    if (further > 0) number("--mtp-num-layers", further);
  }

  void write_attention() {
    const double heads = number_of(attention_, "heads");
    const double groups = number_of(attention_, "kv_heads", heads);
    flag("--group-query-attention", groups != heads);
    if (groups != heads) number("--num-query-groups", groups);
    number("--kv-channels", attention_, "head_dim");
    flag("--add-qkv-bias", number_of(attention_, "qkv_bias") != 0);
    flag("--qk-layernorm", number_of(attention_, "qk_norm") != 0);
    if (number_of(attention_, "flash") == 0) all_.push_back({"--attention-backend", "unfused"});
    // A window of the whole sequence hides nothing, and Megatron-LM refuses any in context groups.
    const double window = number_of(attention_, "window");
    if (window > 0 && window < sequence_.value_or(window + 1))
      all_.push_back({"--window-size", json_number(window - 1) + ",0"});
  }

  void write_latent() {
    flag("--multi-latent-attention", true);
    flag("--qk-layernorm", true);
    number("--q-lora-rank", latent_, "q_lora_rank");
    number("--kv-lora-rank", latent_, "kv_lora_rank");
    number("--qk-head-dim", latent_, "nope");
    number("--qk-pos-emb-head-dim", latent_, "rope");
    number("--v-head-dim", latent_, "value");
    if (number_of(latent_, "flash") == 0) all_.push_back({"--attention-backend", "unfused"});
  }

  void write_vocabulary() {
    const LayerSpec* embedding = first_of(model_, "embedding");
    const LayerSpec* head = first_of(model_, "head");
    number("--vocab-size", embedding, "vocab");
    number("--make-vocab-size-divisible-by", 1);
    const double positions = number_of(embedding, "positions");
    if (positions > 0) number("--max-position-embeddings", positions);
    if (positions == 0) all_.push_back({"--position-embedding-type", "rope"});
    flag("--untie-embeddings-and-output-weights", number_of(head, "tied") == 0);
    flag("--cross-entropy-loss-fusion", number_of(head, "fused_loss", 1) != 0);
  }

  void write_details() {
    flag("--disable-bias-linear", number_of(mlp_, "bias") == 0 && number_of(moe_, "bias") == 0 &&
                                      number_of(attention_, "out_bias") == 0);
    if (number_of(first_of(model_, "norm"), "bias") == 0) {
      all_.push_back({"--normalization", "RMSNorm"});
    }
    const double hidden = number_of(first_of(model_, "embedding"), "dropout");
    number("--hidden-dropout", hidden);
    number("--attention-dropout",
           number_of(attention_, "score_dropout", number_of(attention_, "dropout", hidden)));
  }

  void write_experts() {
    number("--num-experts", moe_, "experts");
    number("--moe-router-topk", moe_, "chosen");
    number("--moe-ffn-hidden-size", moe_, "expert_intermediate");
    number("--moe-shared-expert-intermediate-size", moe_, "shared_intermediate");
    flag("--moe-shared-expert-gate", number_of(moe_, "shared_gate") != 0);
    number("--moe-expert-capacity-factor", moe_, "capacity_factor");
    flag("--moe-pad-expert-input-to-capacity", number_of(moe_, "capacity_factor") >= 1);
    std::vector<int> pattern;
    for (const BlockSpec& block : model_.blocks) {
      if (block.cut_evenly) pattern.push_back(block.parts.back().kind == "moe" ? 1 : 0);
    }
    if (std::ranges::find(pattern, 0) == pattern.end()) return;
    all_.push_back({"--moe-layer-freq", fmt::format("[{}]", fmt::join(pattern, ","))});
  }

  const ModelSpec& model_;
  std::optional<double> sequence_;
  const LayerSpec* attention_;
  const LayerSpec* latent_;
  const LayerSpec* mlp_;
  const LayerSpec* moe_;
  Arguments all_;
};

/// Collects the arguments of a training.
class TrainingWriter {
 public:
  explicit TrainingWriter(const TrainingLaunch& launch)
      : launch_(launch), command_(launch.command) {}

  Arguments written() {
    write_degrees();
    write_cut();
    write_batch();
    write_precision();
    write_recomputation();
    write_replicas();
    return std::move(all_);
  }

 private:
  void number(const char* name, double value, const char* bridge) {
    all_.push_back({name, json_number(value), bridge});
  }
  void word(const char* name, const std::string& value, const char* bridge) {
    all_.push_back({name, value, bridge});
  }
  /// In a config a flag that is left out is false: the recipe may state true.
  void flag(const char* name, bool holds, const std::string& bridge) {
    if (holds || !bridge.empty()) all_.push_back({holds ? name : "", "", bridge});
  }
  /// An argument that is left out where its value is empty: null in a config, as the recipe may
  /// state another.
  void option(const char* name, const std::string& value, const char* bridge) {
    all_.push_back({value.empty() ? "" : name, value.empty() ? "null" : value, bridge});
  }
  /// In a config alone.
  void key(const char* bridge, const std::string& value) { all_.push_back({"", value, bridge}); }
  bool has_experts() const { return first_of(launch_.model, "moe") != nullptr; }

  void write_degrees() {
    number("--tensor-model-parallel-size", command_.tensor.value_or(1),
           "model.tensor_model_parallel_size");
    flag("--sequence-parallel", command_.sequence_parallel.value_or(false),
         "model.sequence_parallel");
    number("--pipeline-model-parallel-size", command_.pipeline.value_or(1),
           "model.pipeline_model_parallel_size");
    number("--context-parallel-size", command_.context.value_or(1), "model.context_parallel_size");
    if (!has_experts()) return;
    number("--expert-model-parallel-size", command_.expert.value_or(1),
           "model.expert_model_parallel_size");
    const std::uint32_t expert_tensor =
        command_.expert_tensor.value_or(command_.tensor.value_or(1));
    number("--expert-tensor-parallel-size", expert_tensor, "model.expert_tensor_parallel_size");
    write_dispatcher(command_.expert.value_or(1) * expert_tensor);
    // moe_act is recomputed with it alone.
    flag("--moe-grouped-gemm", true, "model.moe_grouped_gemm");
    flag("--moe-shared-expert-overlap", command_.overlap_shared_expert.value_or(false),
         "model.moe_shared_expert_overlap");
    flag("--overlap-moe-expert-parallel-comm", command_.overlap_experts.value_or(false),
         "model.overlap_moe_expert_parallel_comm");
  }

  /// flex takes no group of one device, which exchanges nothing.
  void write_dispatcher(std::uint32_t group) {
    const bool once = command_.dispatcher == TokenDispatch::deduplicated && group > 1;
    word("--moe-token-dispatcher-type", once ? "flex" : "alltoall",
         "model.moe_token_dispatcher_type");
  }

  /// Stages of equal length need no layout.
  void write_cut() {
    const StageCounts counts = stage_counts(launch_);
    const std::uint32_t chunks = command_.chunks.value_or(1);
    const bool ends = !are_equal(counts.even);
    const bool further = std::ranges::any_of(launch_.model.blocks, &BlockSpec::predicts_further);
    const bool listed = ends && (further || !are_equal(counts.all));
    option("--pipeline-model-parallel-layout", listed ? pipeline_layout(launch_) : "",
           "model.pipeline_model_parallel_layout");
    // The layout of a script has its chunks.
    const std::string virtual_stages = chunks > 1 ? json_number(chunks) : "";
    option("--num-virtual-stages-per-pipeline-rank", listed ? "" : virtual_stages, "");
    key("model.virtual_pipeline_model_parallel_size", chunks > 1 ? virtual_stages : "null");
    flag("--account-for-embedding-in-pipeline-split", ends && !listed,
         "model.account_for_embedding_in_pipeline_split");
    flag("--account-for-loss-in-pipeline-split", ends && !listed,
         "model.account_for_loss_in_pipeline_split");
    key("model.num_layers_in_first_pipeline_stage", "null");
    key("model.num_layers_in_last_pipeline_stage", "null");
  }

  void write_batch() {
    number("--micro-batch-size", command_.microbatch.value_or(1), "train.micro_batch_size");
    number("--global-batch-size", command_.global_batch.value_or(1), "train.global_batch_size");
    if (!command_.sequence) return;
    number("--seq-length", *command_.sequence, "model.seq_length");
    key("dataset.seq_length", json_number(*command_.sequence));
    const double positions = number_of(first_of(launch_.model, "embedding"), "positions");
    if (positions == 0) number("--max-position-embeddings", *command_.sequence, "");
  }

  void write_precision() {
    const std::string dtype = command_.dtype.value_or("bf16");
    flag(dtype == "fp16" ? "--fp16" : "--bf16", dtype != "fp32", "");
    for (const MegatronDtype& one : megatron_dtypes()) {
      if (one.dtype != dtype) continue;
      word(one.argument, one.format, "");
      if (!one.recipe.empty()) word("--fp8-recipe", std::string(one.recipe), "");
      flag(one.gather, command_.narrow_gathers.value_or(false), "");
    }
    flag("--fp8-dot-product-attention", command_.fp8_attention.value_or(false), "");
    const Optimizer optimizer = command_.optimizer.value_or(Optimizer::adam);
    const bool sgd = optimizer == Optimizer::sgd || optimizer == Optimizer::momentum;
    word("--optimizer", sgd ? "sgd" : "adam", "optimizer.optimizer");
    if (optimizer == Optimizer::sgd) number("--sgd-momentum", 0, "optimizer.sgd_momentum");
  }

  void write_recomputation() {
    const bool full = command_.recompute == RecomputeMode::full;
    const bool selective = command_.recompute == RecomputeMode::selective;
    const auto modules = recompute_modules(command_.recompute_operators);
    const std::uint32_t layers =
        command_.recompute_layers.value_or(command_.recompute_together.value_or(1));
    const char* const method = command_.recompute_layers ? "block" : "uniform";
    option("--recompute-granularity",
           full        ? "full"
           : selective ? "selective"
                       : "",
           "model.recompute_granularity");
    option("--recompute-method", full ? method : "", "model.recompute_method");
    option("--recompute-num-layers", full ? json_number(layers) : "", "model.recompute_num_layers");
    option("--recompute-modules", selective ? fmt::format("{}", fmt::join(modules, " ")) : "",
           "model.recompute_modules");
    flag("--cpu-offloading", command_.offload_layers.has_value(), "model.cpu_offloading");
    if (!command_.offload_layers) return;
    number("--cpu-offloading-num-layers", *command_.offload_layers,
           "model.cpu_offloading_num_layers");
  }

  void write_replicas() {
    flag("--use-distributed-optimizer", command_.zero == 1U, "ddp.use_distributed_optimizer");
    key("optimizer.use_distributed_optimizer", command_.zero == 1U ? "true" : "false");
    if (command_.zero == 1U && command_.shard_groups.value_or(1) > 1) {
      number("--num-distributed-optimizer-instances", *command_.shard_groups,
             "ddp.num_distributed_optimizer_instances");
    }
    flag("--overlap-grad-reduce", launch_.overlaps_sums, "ddp.overlap_grad_reduce");
    // Megatron-LM refuses it without the other.
    flag("--overlap-param-gather",
         launch_.overlaps_sums && command_.overlap_gathers.value_or(false),
         "ddp.overlap_param_gather");
    flag("--no-scatter-gather-tensors-in-pipeline", !command_.scatter_gather.value_or(true), "");
  }

  const TrainingLaunch& launch_;
  const TrainingCommand& command_;
  Arguments all_;
};

/// "t*3", "E", "tL".
std::string letters_of(const TrainingLaunch& launch, const std::vector<LayerIndex>& stage) {
  std::string letters;
  for (const LayerIndex layer : stage) {
    const BlockSpec& block = launch.model.blocks[index(layer)];
    const std::string kind = block.parts.empty() ? "" : block.parts.back().kind;
    if (kind == "patches" || kind == "vision_block" || kind == "merger") continue;
    const bool first = index(layer) == 0 || kind == "embedding";
    letters += block.cut_evenly ? 't' : block.predicts_further ? 'm' : first ? 'E' : 'L';
  }
  std::string text;
  for (std::size_t i = 0; i < letters.size();) {
    const std::size_t end = std::min(letters.find_first_not_of(letters[i], i), letters.size());
    text += letters[i];
    if (end - i > 1) text += fmt::format("*{}", end - i);
    i = end;
  }
  return text;
}

/// --disable-bias-linear speaks for attention, MLPs and experts alike.
std::string biases_apart(const ModelSpec& model) {
  const LayerSpec* attention = first_of(model, "attention");
  const bool output = number_of(attention, "out_bias") != 0;
  if (output && number_of(attention, "qkv_bias") == 0) return "a bias of attention's output alone";
  for (const char* kind : {"mlp", "moe"}) {
    const LayerSpec* network = attention == nullptr ? nullptr : first_of(model, kind);
    if (network == nullptr || output == (network->number("bias") != 0)) continue;
    if (output) return "biases of attention alone";
    return network->kind == "mlp" ? "biases of the MLP alone" : "biases of experts alone";
  }
  return {};
}

/// What a block has that the arguments, which hold for all blocks, do not say.
std::string missing_in_block(const ModelSpec& model, const BlockSpec& block) {
  bool alternates = block.parts.size() % 2 == 0;
  for (std::size_t i = 0; i < block.parts.size(); ++i) {
    alternates = alternates && (block.parts[i].kind == "norm") == (i % 2 == 0);
  }
  if (!alternates) return "norms other than one before attention and one before the MLP";
  for (const LayerSpec& part : block.parts) {
    if (part.kind != "norm" && part.numbers != first_of(model, part.kind)->numbers) {
      return part.kind + " that differs between layers";
    }
  }
  return {};
}

}  // namespace

std::vector<MegatronArgument> model_arguments(const ModelSpec& model,
                                              std::optional<double> sequence) {
  return ModelWriter(model, sequence).written();
}

std::vector<MegatronArgument> training_arguments(const TrainingLaunch& launch) {
  return TrainingWriter(launch).written();
}

std::string missing_in_script(const ModelSpec& model) {
  for (const BlockSpec& block : model.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (!is_listed("embedding, norm, attention, mla, mlp, moe, head", part.kind)) {
        return part.kind;
      }
      for (const char* detail : {"wide_qk_norm", "plain_qk_norm", "gate", "latent"}) {
        if (part.number(detail) != 0) return part.kind + " with " + detail;
      }
      if (part.number("weights", 1) == 0) return part.kind + " without weights";
    }
    if (!block.cut_evenly) continue;
    if (std::string missing = missing_in_block(model, block); !missing.empty()) return missing;
  }
  return biases_apart(model);
}

std::string pipeline_layout(const TrainingLaunch& launch) {
  std::vector<std::string> stages;
  for (const auto& stage : launch.stages) stages.push_back(letters_of(launch, stage));
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t end = i + 1;
    while (end + 1 < stages.size() && stages[end] == stages[i]) ++end;
    const char* bar = end < stages.size() ? "|" : "";
    text += end - i > 1 ? fmt::format("({}|)*{}", stages[i], end - i) : stages[i] + bar;
    i = end;
  }
  return text;
}

}  // namespace penstock
