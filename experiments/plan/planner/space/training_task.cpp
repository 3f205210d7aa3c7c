#include "experiments/plan/planner/space/training_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/run/layout/modules.hpp"
#include "experiments/run/layout/stated_module.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Total examples per iteration: 8 per device, 1 from 1024 devices on. Keeps pipelines busy without
/// large batches on many devices.
constexpr std::uint32_t usual_examples_in_all = 1024;
constexpr std::uint32_t most_examples_a_device = 8;

bool goes_to_file(const std::string& output) { return !output.empty() && output != "-"; }

std::uint64_t layers_of(const ModelSection& model) {
  if (!model.by_kind()) return std::max<std::uint64_t>(model.graph.layers.size(), 1);
  const auto count = std::ranges::count_if(model.spec.blocks, &BlockSpec::cut_evenly);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(count), 1);
}

/// The greatest common divisor of a number over all layers that have it; 0 if none has.
std::uint64_t divisor_of_all(const ModelSpec& spec, std::string_view name) {
  std::uint64_t common = 0;
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      const auto number = part.numbers.find(name);
      if (number == part.numbers.end()) continue;
      common = std::gcd(common, static_cast<std::uint64_t>(number->second));
    }
  }
  return common;
}

/// 0: no layer has a window.
std::uint64_t narrowest_window(const ModelSpec& spec) {
  std::uint64_t narrowest = 0;
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      const auto found = part.numbers.find("window");
      if (found == part.numbers.end() || found->second == 0) continue;
      const auto window = static_cast<std::uint64_t>(found->second);
      narrowest = narrowest == 0 ? window : std::min(narrowest, window);
    }
  }
  return narrowest;
}

bool has_latent_attention(const ModelSpec& spec) {
  return std::ranges::any_of(spec.blocks, [](const BlockSpec& block) {
    return std::ranges::any_of(block.parts, [](const LayerSpec& part) {
      return part.kind == "mla" || part.kind == "sparse_attention";
    });
  });
}

/// What rules about degrees ask of a model.
void read_layers(const ModelSection& model, TrainingTask& task) {
  task.layers = layers_of(model);
  task.uncut = std::ranges::count_if(model.spec.blocks, [](const BlockSpec& one) {
    return !(one.cut_evenly || one.predicts_further || is_at_an_end(one));
  });
  task.blocks = std::max<std::uint64_t>(task.layers, model.spec.blocks.size());
  task.heads = divisor_of_all(model.spec, "heads");
  task.key_heads = divisor_of_all(model.spec, "kv_heads");
  task.experts = std::max<std::uint64_t>(divisor_of_all(model.spec, "experts"), 1);
  task.window = narrowest_window(model.spec);
  task.latent = has_latent_attention(model.spec);
}

std::optional<std::uint32_t> sequence_of(const TrainingRequest& request,
                                         const ModelSection& model) {
  if (request.sequence) return request.sequence;
  if (!has_tokens(model.spec)) return std::nullopt;
  return static_cast<std::uint32_t>(model.sequence.value_or(usual_sequence(model.max_sequence)));
}

void take_batch(const TrainingRequest& request, const Scenario& scenario, TrainingTask& task) {
  const auto& stated = scenario.model.microbatch;
  task.microbatch_given = request.microbatch || stated || !task.by_kind;
  task.states_microbatch = request.microbatch || task.by_kind;
  task.microbatch = request.microbatch.value_or(static_cast<std::uint32_t>(stated.value_or(1)));
  const std::uint32_t a_device =
      std::clamp(usual_examples_in_all / task.devices, std::uint32_t{1}, most_examples_a_device);
  task.global_batch = request.global_batch.value_or(scenario.schedule.global_batch.value_or(
      task.devices * task.microbatch * std::max(a_device / task.microbatch, std::uint32_t{1})));
}

RecomputeMode mode_of(const std::string& name) {
  if (name == "full") return RecomputeMode::full;
  if (name == "selective") return RecomputeMode::selective;
  return name == "except_last" ? RecomputeMode::except_last : RecomputeMode::none;
}

void set_parallel(const LayoutChoice& choice, ParallelSection& parallel) {
  parallel.pipeline = choice.pipeline;
  parallel.chunks = choice.chunks;
  parallel.tensor = choice.tensor;
  parallel.data = choice.data;
  parallel.context = choice.context;
  parallel.expert = choice.expert;
  parallel.expert_tensor = choice.expert_tensor;
  parallel.sequence = choice.tensor > 1 && choice.sequence_parallel;
  parallel.overlap_experts = choice.hides_experts;
}

void set_schedule(const LayoutChoice& choice, ScheduleSection& schedule) {
  schedule.name = choice.schedule;
  schedule.microbatches = choice.microbatches;
  schedule.settings = choice.options;
  schedule.overlap = choice.fused ? Overlap::fused : Overlap::serial;
}

/// A document without a key.
std::shared_ptr<const nlohmann::json> without(std::shared_ptr<const nlohmann::json> document,
                                              std::string_view pointer) {
  const nlohmann::json::json_pointer place{std::string(pointer)};
  if (!document || !document->contains(place)) return document;
  auto less = std::make_shared<nlohmann::json>(*document);
  (*less)[place.parent_pointer()].erase(place.back());
  return less;
}

/// Leaves out what other ZeRO levels state.
void set_zero(const LayoutChoice& choice, Scenario& scenario) {
  scenario.memory.zero = choice.zero;
  const auto leave_out = [&](std::string_view pointer, auto& value) {
    if (goes_with_zero(pointer, choice.zero)) return;
    value = {};
    scenario.document = without(scenario.document, pointer);
  };
  leave_out("/parallel/overlap_gathers", scenario.parallel.overlap_gathers);
  leave_out("/parallel/narrow_gathers", scenario.parallel.narrow_gathers);
  leave_out("/parallel/bucket_bytes", scenario.parallel.bucket_bytes);
  leave_out("/memory/shard_groups", scenario.memory.shard_groups);
  leave_out("/memory/prefetch_layers", scenario.memory.prefetch_layers);
  leave_out("/memory/gathered_bytes", scenario.memory.gathered_bytes);
  leave_out("/memory/whole_gradients", scenario.memory.whole_gradients);
}

ordered_json model_section(const TrainingTask& task, const LayoutChoice& choice) {
  ordered_json section{
      {"description",
       task.by_kind ? "what is trained: a model file; tokens of an example (sequence); examples "
                      "that a device works on at a time (microbatch)"
                    : "what is trained: a file that states the times of layers for one microbatch"},
      {"file", task.model}};
  if (task.sequence) section["sequence"] = *task.sequence;
  if (task.states_microbatch) section["microbatch"] = choice.microbatch;
  return section;
}

ordered_json hardware_section(const TrainingTask& task) {
  return {{"description",
           "a machine of the catalogue (penstock list hardware) or a file such as those, and the "
           "number of devices in use"},
          {task.hardware_is_file ? "file" : "name", task.hardware},
          {"devices", task.devices}};
}

ordered_json parallel_section(const TrainingTask& task, const LayoutChoice& choice) {
  ordered_json section{
      {"description",
       fmt::format("degrees of parallelism; pipeline x tensor x context x data = {}, which expert "
                   "divides. chunks: stages per pipeline rank; sequence: shards norms and dropout "
                   "along the sequence",
                   counted(task.devices - (choice.module ? choice.module->devices : 0), "device"))},
      {"pipeline", choice.pipeline},
      {"chunks", choice.chunks},
      {"tensor", choice.tensor},
      {"data", choice.data},
      {"context", choice.context},
      {"expert", choice.expert},
      {"sequence", choice.tensor > 1 && choice.sequence_parallel}};
  // Stated even as the default: a training command may state another.
  if (task.experts > 1) {
    section["expert_tensor"] = choice.expert_tensor.value_or(choice.tensor);
    section["overlap_experts"] = choice.hides_experts;
  }
  return section;
}

/// A number where the option is one.
ordered_json option_value(const std::string& text) {
  const auto number = whole_number<std::uint32_t>(text);
  return number ? ordered_json(*number) : ordered_json(text);
}

ordered_json schedule_section(const TrainingTask& task, const LayoutChoice& choice) {
  ordered_json section{
      {"description", fmt::format("the order of work (penstock list schedules). Global batch: {} = "
                                  "microbatches {} x microbatch {} x data {}",
                                  counted(task.global_batch, "example"), choice.microbatches,
                                  choice.microbatch, choice.data)},
      {"name", choice.schedule},
      {"microbatches", choice.microbatches}};
  if (choice.fused) section["overlap"] = "fused";
  for (const auto& [name, value] : choice.options) section[name] = option_value(value);
  return section;
}

ordered_json recompute_section(const LayoutChoice& choice) {
  ordered_json section{{"description",
                        "activations that the backward pass recomputes: none, selective (inside "
                        "attention) or full (whole layers)"},
                       {"mode", choice.recompute}};
  if (choice.recomputes_stages) section["unit"] = "stage";
  if (choice.layers > 0) section["layers"] = choice.layers;
  if (!choice.operators.empty()) section["operators"] = choice.operators;
  return section;
}

ModuleSection section_of(const ModuleChoice& choice) {
  ModuleSection section{.name = choice.name, .tensor = choice.tensor};
  if (choice.devices > 0) {
    section.data = choice.devices / choice.tensor;
  } else {
    section.devices = ModuleDevices::shared;
    section.order = choice.in_bubbles ? ModuleOrder::bubbles : ModuleOrder::first;
  }
  return section;
}

ordered_json modules_json(const ModuleChoice& choice) {
  if (choice.devices > 0) {
    return {{"description", fmt::format("layers on {} of their own; tensor x data are these",
                                        counted(choice.devices, "device"))},
            {choice.name,
             {{"devices", "own"},
              {"tensor", choice.tensor},
              {"data", choice.devices / choice.tensor}}}};
  }
  return {{"description",
           "layers that every rank of the pipeline holds beside its own; order: in the bubbles of "
           "the others, or ahead of them and behind them (first)"},
          {choice.name,
           {{"devices", "shared"},
            {"order", choice.in_bubbles ? "bubbles" : "first"},
            {"tensor", choice.tensor}}}};
}

/// Sections that only some layouts have.
void add_rare_sections(const LayoutChoice& choice, ordered_json& document) {
  if (choice.module) document["modules"] = modules_json(*choice.module);
  if (choice.offload || choice.offloaded_layers > 0) {
    ordered_json& offload = document["offload"];
    offload["description"] =
        "activations beyond this number (keep), or those of the first layers of each stage, go to "
        "host memory and come back";
    if (choice.offload) offload["keep"] = *choice.offload;
    if (choice.offloaded_layers > 0) offload["layers"] = choice.offloaded_layers;
  }
  if (!choice.stash && !choice.link) return;
  ordered_json& codec = document["codec"];
  codec["description"] = "how activations are compressed: kept ones (stash), sent ones (link)";
  if (choice.stash) codec["stash"] = encoding_json(*choice.stash);
  if (choice.link) codec["link"] = encoding_json(*choice.link);
}

ordered_json memory_section(const LayoutChoice& choice) {
  return {{"description",
           "zero 1 shards the optimizer state over replicas, 2 gradients too, 3 parameters too. "
           "capacity_bytes defaults to the memory of the device"},
          {"zero", choice.zero}};
}

ordered_json partition_section(const LayoutChoice& choice) {
  return {{"description",
           "how layers are cut into stages; even: the same number of layers in each stage"},
          {"name", choice.partition}};
}

}  // namespace

TrainingTask read_training_task(const TrainingRequest& request, const Catalogue& catalogue) {
  if (request.model == "-") {
    throw UsageError("--model -: a scenario names the file of its model; give a file");
  }
  const bool to_file = goes_to_file(request.output);
  const std::string folder = to_file ? fs::path(request.output).parent_path().string() : "";
  if (!folder.empty() && !fs::is_directory(folder)) {
    throw UsageError(
        fmt::format("{}: cannot write: there is no folder {}", request.output, folder));
  }
  const bool own_machine = is_machine_file(catalogue, request.hardware);
  TrainingTask task{
      .source = to_file ? request.output : "new scenario",
      .model = path_seen_from(folder, request.model),
      .hardware = own_machine ? path_seen_from(folder, request.hardware) : request.hardware,
      .hardware_is_file = own_machine,
      .devices = request.devices,
      .machine_devices =
          machine_of_option(catalogue, request.hardware, request.hardware_option).devices,
      .sequence = request.sequence,
      .microbatch = request.microbatch.value_or(1),
      .states_microbatch = request.microbatch.has_value(),
      .settings = request.settings,
      .changes = request.changes,
      .writer = request.writer,
      .training = request.training};
  const Scenario scenario = about_settings(task, [&] {
    Scenario plain = parse_scenario(layout_document(task, stated_layout(task)), task.source);
    refuse_one_order(plain, task.source);
    return plain;
  });
  task.shard_groups = scenario.memory.shard_groups.value_or(1);
  task.by_kind = scenario.model.by_kind();
  task.dtype = scenario.model.dtype.value_or("bf16");
  task.optimizer = scenario.memory.optimizer;
  read_layers(scenario.model, task);
  task.states_operators = stated_layout(task).recompute == "selective";
  if (!scenario.module && task.by_kind && takes_module(scenario))
    task.module = first_module(scenario.model.spec.blocks);
  task.sequence = sequence_of(request, scenario.model);
  take_batch(request, scenario, task);
  return task;
}

TrainingTask task_beside_module(const TrainingTask& task, const Scenario& whole,
                                std::uint32_t devices) {
  TrainingTask beside = task;
  beside.devices = devices;
  beside.module.clear();
  beside.without = task.module;
  read_layers(without_module(whole, task.module).model, beside);
  return beside;
}

Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice) {
  if (task.states_microbatch) scenario.model.microbatch = choice.microbatch;
  set_parallel(choice, scenario.parallel);
  set_schedule(choice, scenario.schedule);
  scenario.recompute.mode = mode_of(choice.recompute);
  if (choice.recomputes_stages) scenario.recompute.unit = RecomputeUnit::stage;
  if (!choice.operators.empty()) scenario.recompute.operators = choice.operators;
  scenario.recompute.layers.reset();
  if (choice.layers > 0) scenario.recompute.layers = choice.layers;
  if (choice.recompute != "full" || choice.recomputes_stages || choice.layers > 0) {
    scenario.recompute.together = 1;
  }
  set_zero(choice, scenario);
  if (choice.offload || choice.offloaded_layers > 0) {
    if (!scenario.offload) scenario.offload.emplace();
    if (choice.offload) scenario.offload->keep = *choice.offload;
    if (choice.offloaded_layers > 0) scenario.offload->layers = choice.offloaded_layers;
  }
  if (choice.stash) scenario.codec.stash = *choice.stash;
  if (choice.link) scenario.codec.link = *choice.link;
  scenario.partition.name = choice.partition;
  if (choice.module) scenario.module = section_of(*choice.module);
  return scenario;
}

std::string layout_document(const TrainingTask& task, const LayoutChoice& choice) {
  const std::string model = std::filesystem::path(task.model).filename().string();
  ordered_json document{
      {"penstock", 1},
      {"description", fmt::format("{} on {} of {}, written by {}", model,
                                  counted(task.devices, "device"), task.hardware, task.writer)},
      {"model", model_section(task, choice)},
      {"hardware", hardware_section(task)},
      {"partition", partition_section(choice)},
      {"parallel", parallel_section(task, choice)},
      {"schedule", schedule_section(task, choice)},
      {"recompute", recompute_section(choice)},
      {"memory", memory_section(choice)}};
  add_rare_sections(choice, document);
  add_settings("--set", task.settings, choice, document);
  add_settings("--change", task.changes, choice, document);
  // A whole section that a setting states has the microbatch of the layout all the same, and the
  // sequence unless it states one.
  if (task.states_microbatch) document["model"]["microbatch"] = choice.microbatch;
  if (task.sequence && !document["model"].contains("sequence")) {
    document["model"]["sequence"] = *task.sequence;
  }
  return printed(document);
}

}  // namespace penstock
