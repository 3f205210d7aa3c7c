#include "experiments/plan/planner/space/layout_choice.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"

namespace penstock {
namespace {

std::string degrees_text(const LayoutChoice& choice) {
  std::string text =
      fmt::format("tensor {}, pipeline {}, data {}", choice.tensor, choice.pipeline, choice.data);
  if (choice.context > 1) text += fmt::format(", context {}", choice.context);
  if (choice.expert > 1) text += fmt::format(", expert {}", choice.expert);
  if (choice.tensor > 1 && !choice.sequence_parallel) text += ", no sequence parallelism";
  return text;
}

std::string schedule_text(const LayoutChoice& choice) {
  std::string text = choice.schedule;
  if (choice.chunks > 1) text += fmt::format(" with {} chunks", choice.chunks);
  for (const auto& [name, value] : choice.options) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string recompute_text(const LayoutChoice& choice) {
  if (choice.recompute == "none") return "no recomputation";
  return fmt::format("{} recomputation{}", choice.recompute,
                     choice.recomputes_stages ? " by stage" : "");
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
  parallel.sequence = choice.tensor > 1 && choice.sequence_parallel;
}

void set_schedule(const LayoutChoice& choice, ScheduleSection& schedule) {
  schedule.name = choice.schedule;
  schedule.microbatches = choice.microbatches;
  schedule.settings = choice.options;
}

ordered_json model_section(const TrainingTask& task, const LayoutChoice& choice) {
  ordered_json section{
      {"description",
       task.by_kind
           ? "what is trained: a model file; tokens of an example (sequence); examples that a "
             "device works on at a time (microbatch)"
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
  return {{"description",
           fmt::format("degrees of parallelism; pipeline x tensor x data x context x expert = {}. "
                       "chunks: stages per pipeline rank; sequence: shards norms and dropout along "
                       "the sequence",
                       counted(task.devices, "device"))},
          {"pipeline", choice.pipeline},
          {"chunks", choice.chunks},
          {"tensor", choice.tensor},
          {"data", choice.data},
          {"context", choice.context},
          {"expert", choice.expert},
          {"sequence", choice.tensor > 1 && choice.sequence_parallel}};
}

/// A number where the option is one.
ordered_json option_value(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number ? ordered_json(number) : ordered_json(text);
}

ordered_json schedule_section(const TrainingTask& task, const LayoutChoice& choice) {
  const std::string experts = choice.expert > 1 ? fmt::format(" x expert {}", choice.expert) : "";
  ordered_json section{
      {"description", fmt::format("the order of work (penstock list schedules). Global batch: {} = "
                                  "microbatches {} x microbatch {} x data {}{}",
                                  counted(task.global_batch, "example"), choice.microbatches,
                                  choice.microbatch, choice.data, experts)},
      {"name", choice.schedule},
      {"microbatches", choice.microbatches}};
  for (const auto& [name, value] : choice.options) section[name] = option_value(value);
  return section;
}

ordered_json recompute_section(const LayoutChoice& choice) {
  ordered_json section{
      {"description",
       "activations that the backward pass recomputes: none, selective (inside attention) or "
       "full (whole layers)"},
      {"mode", choice.recompute}};
  if (choice.recomputes_stages) section["unit"] = "stage";
  return section;
}

/// Sections that only some layouts have.
void add_rare_sections(const LayoutChoice& choice, ordered_json& document) {
  if (choice.offload) {
    document["offload"] = {
        {"description", "activations beyond this number go to host memory and come back"},
        {"keep", *choice.offload}};
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

/// Applies settings and keeps the order of the sections.
void add_settings(std::string_view option, const std::vector<std::string>& settings,
                  ordered_json& document) {
  if (settings.empty()) return;
  nlohmann::json checked = nlohmann::json::parse(document.dump());
  apply_settings(checked, settings, option);
  for (const std::string& text : settings) {
    for (const SingleSetting& setting : single_settings_of(option, text)) {
      document[ordered_json::json_pointer(setting.pointer)] = ordered_json::parse(setting.value);
    }
  }
}

}  // namespace

std::string text_of(const LayoutChoice& choice) {
  std::string text =
      fmt::format("{}, {}, {} of {}, {}", degrees_text(choice), schedule_text(choice),
                  counted(choice.microbatches, "microbatch", "microbatches"), choice.microbatch,
                  recompute_text(choice));
  if (choice.zero > 0) text += fmt::format(", ZeRO-{}", choice.zero);
  if (choice.stash) text += ", stash " + encoding_text(*choice.stash);
  if (choice.link) text += ", links " + encoding_text(*choice.link);
  if (choice.offload) text += fmt::format(", offload all but {}", *choice.offload);
  if (choice.partition != "even") text += ", cut " + choice.partition;
  return text;
}

Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice) {
  if (task.states_microbatch) scenario.model.microbatch = choice.microbatch;
  set_parallel(choice, scenario.parallel);
  set_schedule(choice, scenario.schedule);
  scenario.recompute.mode = mode_of(choice.recompute);
  if (choice.recomputes_stages) scenario.recompute.unit = RecomputeUnit::stage;
  scenario.memory.zero = choice.zero;
  if (choice.offload) scenario.offload = Offload{*choice.offload};
  if (choice.stash) scenario.codec.stash = *choice.stash;
  if (choice.link) scenario.codec.link = *choice.link;
  scenario.partition.name = choice.partition;
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
  add_settings("--set", task.settings, document);
  add_settings("--change", task.changes, document);
  return printed(document);
}

}  // namespace penstock
