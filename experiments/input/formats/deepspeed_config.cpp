#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

// Keys are those of DeepSpeed's runtime/config.py.

namespace penstock::deepspeed_config_file {
namespace {

using nlohmann::json;

constexpr std::uint32_t most = 1'000'000'000;
constexpr const char* equal_layers = "type:transformer";  // counts transformer layers alone

/// Keys that are read, each with its own keys inside; what else may change the layout is refused.
constexpr std::string_view read_keys =
    "train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps, "
    "zero_optimization, bf16, bfloat16, fp16, amp, torch_autocast, tensor_parallel, "
    "sequence_parallel_size, pipeline, activation_checkpointing, expert_parallel, optimizer, "
    "zero_allow_untested_optimizer, data_parallel_size, data_types";

/// Likewise, inside zero_optimization.
constexpr std::string_view zero_keys =
    "stage, overlap_comm, mics_shard_size, offload_optimizer, offload_param, cpu_offload, "
    "zero_hpz_partition_size, cpu_offload_param, cpu_offload_params, zero_quantized_weights, "
    "zero_quantized_gradients";

std::optional<std::uint32_t> whole(const JsonView& view, std::string_view key) {
  const auto value = view.find(key);
  if (!value) return std::nullopt;
  return value->whole(most);
}

/// The value of a key in a section; nothing without either.
std::optional<JsonView> inside(const JsonView& view, std::string_view section,
                               std::string_view key) {
  const auto found = view.find(section);
  return found ? found->find(key) : std::nullopt;
}

std::uint32_t whole_inside(const JsonView& view, std::string_view section, std::string_view key,
                           std::uint32_t otherwise, std::uint32_t limit = most) {
  const auto found = inside(view, section, key);
  return found ? found->whole(limit) : otherwise;
}

void refuse_true(const JsonView& view, std::string_view section, std::string_view key,
                 const std::string& what) {
  const auto found = inside(view, section, key);
  if (found && found->flag()) found->fail(what);
}

/// cpu_offload and cpu_offload_params are older names.
void refuse_offload(const JsonView& view) {
  constexpr const char* why = "optimizer state and parameters on the host are not simulated";
  for (const char* key : {"cpu_offload", "cpu_offload_param", "cpu_offload_params"}) {
    refuse_true(view, "zero_optimization", key, why);
  }
  for (const char* key : {"offload_optimizer", "offload_param"}) {
    const auto found = inside(view, "zero_optimization", key);
    const auto device = found ? found->find("device") : std::nullopt;
    if (device && device->text() != "none") device->fail(why);
  }
}

/// Hugging Face's Trainer fills in what its configs leave open. Any key counts where `keys` is
/// empty.
void refuse_auto(const json& section, const std::string& where, std::string_view keys) {
  if (!section.is_object()) return;
  for (const auto& [key, value] : section.items()) {
    if (value != "auto" || !(keys.empty() || is_listed(keys, key))) continue;
    throw InputError(where + pointer_step(key),
                     "\"auto\" is filled in by Hugging Face's Trainer; write its value");
  }
}

void refuse_auto(const json& document) {
  refuse_auto(document, "", read_keys);
  for (const auto& [key, section] : document.items()) {
    const bool zero = key == "zero_optimization";
    if (is_listed(read_keys, key)) refuse_auto(section, pointer_step(key), zero ? zero_keys : "");
  }
}

void read_degrees(const JsonView& view, TrainingCommand& command) {
  command.tensor = whole_inside(view, "tensor_parallel", "autotp_size", 1);
  command.sequence_parallel = false;
  command.context = 1;
  command.chunks = 1;
  command.expert = whole_inside(view, "expert_parallel", "autoep_size", 1);
  const auto stages = inside(view, "pipeline", "stages");
  command.pipeline = stages ? stages->whole(Limits::ranks) : 1;
  command.schedule = "1f1b";
  const auto cut = inside(view, "pipeline", "partition");
  if (cut && cut->text() != equal_layers) {
    cut->fail(
        fmt::format("only \"{}\" is simulated: equally many transformer layers", equal_layers));
  }
  const auto split = view.find("sequence_parallel_size");
  if (split && split->whole(most) > 1) {
    split->fail("sequences that are split by heads (Ulysses) are not simulated");
  }
}

/// MiCS states the size of a group; the batch tells the number of replicas.
std::optional<std::uint32_t> shard_groups(const JsonView& view) {
  const auto size = inside(view, "zero_optimization", "mics_shard_size");
  if (!size || size->number(-1, most) < 1) return std::nullopt;
  const auto batch = whole(view, "train_batch_size");
  const std::uint64_t each =
      std::uint64_t{whole(view, "train_micro_batch_size_per_gpu").value_or(0)} *
      whole(view, "gradient_accumulation_steps").value_or(0);
  const std::uint64_t of_group = each * size->whole(most);
  if (!batch || of_group == 0 || *batch % of_group != 0) {
    size->fail(
        "its groups are those of train_batch_size / (train_micro_batch_size_per_gpu x "
        "gradient_accumulation_steps) replicas, which they must divide");
  }
  return static_cast<std::uint32_t>(*batch / of_group);
}

/// Weights that are kept or sent in another form than the optimizer has them.
void refuse_zero_plus(const JsonView& view) {
  const auto secondary = inside(view, "zero_optimization", "zero_hpz_partition_size");
  if (secondary && secondary->whole(most) > 1) {
    secondary->fail("a second copy of the weights inside machines (hpZ) is not simulated");
  }
  for (const char* key : {"zero_quantized_weights", "zero_quantized_gradients"}) {
    refuse_true(view, "zero_optimization", key,
                "gathers and sums of quantized values are not simulated");
  }
}

/// As its engine's get_data_types: bf16 weights have fp32 gradients without ZeRO alone.
void read_gradients(const JsonView& view, TrainingCommand& command) {
  if (command.dtype != "bf16") return;
  if (command.zero > 0U) command.gradients = Precision::bf16;
  const auto type = inside(view, "data_types", "grad_accum_dtype");
  if (!type || type->is_null()) return;
  const bool wide = is_listed("fp32, float32, float", type->text());
  if (!wide && !is_listed("bf16, bfloat16", type->text())) type->fail("known: bf16, fp32");
  if (wide && command.zero > 1U) type->fail("fp32 gradients of bf16 go with ZeRO-0 and ZeRO-1");
  command.gradients = wide ? Precision::fp32 : Precision::bf16;
}

void read_memory(const JsonView& view, TrainingCommand& command) {
  refuse_offload(view);
  refuse_zero_plus(view);
  refuse_true(view, "activation_checkpointing", "cpu_checkpointing",
              "checkpoints on the host are not simulated");
  refuse_true(view, "activation_checkpointing", "partition_activations",
              "checkpoints split over a tensor group are not simulated");
  command.zero = whole_inside(view, "zero_optimization", "stage", 0, 3);
  if (command.zero >= 2U && command.pipeline > 1U) {
    inside(view, "zero_optimization", "stage")->fail("a pipeline runs with ZeRO-0 and ZeRO-1");
  }
  command.shard_groups = shard_groups(view);
  const std::uint32_t interval =
      whole_inside(view, "pipeline", "activation_checkpoint_interval", 0);
  const std::uint32_t checkpoints =
      whole_inside(view, "activation_checkpointing", "number_checkpoints", 0);
  command.recompute = interval + checkpoints > 0 ? RecomputeMode::full : RecomputeMode::none;
  if (interval > 1) command.recompute_together = interval;
  const auto enabled = [&](const char* name) {
    const auto found = inside(view, name, "enabled");
    return found && found->flag();
  };
  const bool bf16 = enabled(view.find("bf16") ? "bf16" : "bfloat16");  // the older name
  if (bf16) refuse_true(view, "fp16", "enabled", "it conflicts with bf16; enable one of them");
  command.dtype = bf16 ? "bf16" : enabled("fp16") ? "fp16" : "fp32";
  read_gradients(view, command);
  for (const char* key : {"torch_autocast", "amp"}) {
    if (command.dtype != "fp32") continue;
    refuse_true(view, key, "enabled",
                "weights in fp32 whose products run in another type are not simulated; state bf16 "
                "or fp16");
  }
  for (const char* key : {"bf16_master_weights_and_grads", "bf16_optimizer_states"}) {
    refuse_true(view, "bf16", key, "master weights, gradients and moments are simulated in fp32");
  }
}

/// Of torch.optim, SGD has momentum if its parameters say so; all others have moments.
std::optional<Optimizer> optimizer_of(const JsonView& view, std::vector<std::string>& notes) {
  const auto type = inside(view, "optimizer", "type");
  if (!type) return std::nullopt;
  const std::string name = in_small_letters(type->text());
  if (name != "sgd") {
    const bool moments = name.find("adam") != name.npos || name.find("lamb") != name.npos;
    if (!moments) {
      notes.push_back(
          fmt::format("optimizer {}: two moments per parameter are assumed, as for Adam",
                      shortened(type->text())));
    }
    return std::nullopt;
  }
  const auto params = inside(view, "optimizer", "params");
  const auto momentum = params ? params->find("momentum") : std::nullopt;
  return momentum && momentum->number(0, 1) > 0 ? Optimizer::momentum : Optimizer::sgd;
}

bool recognizes(std::string_view text) {
  return has_sign(text, true, {R"("train_micro_batch_size_per_gpu")", R"("zero_optimization")"});
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  const json document = parse_json(text);
  refuse_auto(document);
  const JsonView view(document);
  ModelFile file;
  TrainingCommand& command = file.command;
  read_degrees(view, command);
  read_memory(view, command);
  command.stack = "fsdp-eager";  // PyTorch's own kernels, one by one
  command.optimizer = optimizer_of(view, file.notes);
  const auto overlaps = inside(view, "zero_optimization", "overlap_comm");
  command.overlap_sums = overlaps ? overlaps->flag() : command.zero == 3U;
  command.microbatch = whole(view, "train_micro_batch_size_per_gpu");
  command.global_batch = whole(view, "train_batch_size");
  command.microbatches = whole(view, "gradient_accumulation_steps");
  // As DeepSpeed's _set_batch_parameters, which derives what is missing.
  const bool alone = !command.global_batch || !command.microbatch;
  if (alone && !command.microbatches) command.microbatches = 1;
  std::vector<std::string> ignored;
  for (const auto& [key, value] : view.entries()) {
    if (is_listed(read_keys, key)) continue;
    if (key.ends_with("_parallel") || key.ends_with("_parallel_size")) {
      value.fail("it changes the layout and is not read");
    }
    ignored.push_back(key);
  }
  if (const auto zero = view.find("zero_optimization")) {
    for (const auto& [key, value] : zero->entries()) {
      if (!is_listed(zero_keys, key)) ignored.push_back("zero_optimization." + key);
    }
  }
  if (!ignored.empty()) {
    file.notes.push_back(fmt::format("keys that are not read: {}", fmt::join(ignored, ", ")));
  }
  return file;
}

ordered_json pipeline_of(const TrainingCommand& command) {
  ordered_json pipeline{{"stages", *command.pipeline}, {"partition", equal_layers}};
  if (command.recompute == RecomputeMode::full) {
    pipeline["activation_checkpoint_interval"] = command.recompute_together.value_or(1);
  }
  return pipeline;
}

/// Without one, Adam is the caller's.
void write_optimizer(const TrainingCommand& command, ordered_json& config) {
  const Optimizer optimizer = command.optimizer.value_or(Optimizer::adam);
  if (optimizer != Optimizer::sgd && optimizer != Optimizer::momentum) return;
  const double momentum = optimizer == Optimizer::momentum ? 0.9 : 0;
  config["optimizer"] = {{"type", "SGD"}, {"params", {{"momentum", momentum}}}};
  if (command.zero.value_or(0) > 0) config["zero_allow_untested_optimizer"] = true;
}

/// Where they are not as DeepSpeed has them.
void write_gradients(const TrainingCommand& command, ordered_json& config) {
  const bool narrow = command.gradients == Precision::bf16;
  const std::uint32_t zero = command.zero.value_or(0);
  if (narrow != (zero > 0) && zero < 2) {
    config["data_types"] = {{"grad_accum_dtype", narrow ? "bf16" : "fp32"}};
  }
}

std::vector<std::string> left_out_of(const TrainingLaunch& launch) {
  std::vector<std::string> all = launch.of_megatron;
  all.insert(all.end(), launch.of_none.begin(), launch.of_none.end());
  if (launch.command.optimizer == Optimizer::none) all.emplace_back("/memory/optimizer=none");
  const bool wide = launch.command.dtype == "bf16" && launch.command.gradients != Precision::bf16;
  if (wide && launch.command.zero > 1U) {
    all.emplace_back("/memory/gradients=fp32");
  }
  return all;
}

/// PipelineModule takes stages, partition and interval from its caller, who finds them here.
std::vector<LaunchFile> write_launch(const TrainingLaunch& launch) {
  const TrainingCommand& command = launch.command;
  ordered_json config{
      {"train_batch_size", command.global_batch.value_or(1)},
      {"train_micro_batch_size_per_gpu", command.microbatch.value_or(1)},
      {"gradient_accumulation_steps", command.microbatches.value_or(1)},
      {"zero_optimization",
       {{"stage", command.zero.value_or(0)}, {"overlap_comm", launch.overlaps_sums}}}};
  if (command.shard_groups.value_or(1) > 1) {
    config["zero_optimization"]["mics_shard_size"] =
        command.data.value_or(1) / *command.shard_groups;
  }
  write_optimizer(command, config);
  const std::string dtype = command.dtype.value_or("bf16");
  if (dtype != "fp32") config[dtype == "fp16" ? "fp16" : "bf16"] = {{"enabled", true}};
  if (dtype == "bf16") write_gradients(command, config);
  if (command.tensor.value_or(1) > 1)
    config["tensor_parallel"] = {{"autotp_size", *command.tensor}};
  if (command.expert.value_or(1) > 1) {
    config["expert_parallel"] = {{"enabled", true}, {"autoep_size", *command.expert}};
  }
  if (command.pipeline.value_or(1) > 1) {
    config["pipeline"] = pipeline_of(command);
  } else if (command.recompute == RecomputeMode::full) {
    const auto layers = std::ranges::count_if(launch.model.blocks, &BlockSpec::cut_evenly);
    config["activation_checkpointing"] = {{"number_checkpoints", layers}};
  }
  return {{".deepspeed.json", printed(config), left_out_of(launch)}};
}

}  // namespace

constinit extern const FormatEntry deepspeed_config_entry{
    "deepspeed-config",
    ".json",
    "how DeepSpeed trains, as its config states it; read and written",
    recognizes,
    read_model,
    write_launch,
    "/model/command"};

}  // namespace penstock::deepspeed_config_file
