#include "experiments/starter/starter_document.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/files/json_output.hpp"

namespace penstock {
namespace {

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
           fmt::format("degrees of parallelism; pipeline x tensor x data x context x expert = {} "
                       "devices. chunks: stages per pipeline rank; sequence: shards norms and "
                       "dropout along the sequence",
                       task.devices)},
          {"pipeline", choice.pipeline},
          {"chunks", choice.chunks},
          {"tensor", choice.tensor},
          {"data", choice.data},
          {"context", 1},
          {"expert", choice.expert},
          {"sequence", choice.tensor > 1}};
}

ordered_json schedule_section(const TrainingTask& task, const LayoutChoice& choice) {
  const std::string experts = choice.expert > 1 ? fmt::format(" x expert {}", choice.expert) : "";
  return {{"description",
           fmt::format("the order of work (penstock list schedules). Global batch: {} examples = "
                       "microbatches {} x microbatch {} x data {}{}",
                       task.global_batch, choice.microbatches, choice.microbatch, choice.data,
                       experts)},
          {"name", choice.schedule},
          {"microbatches", choice.microbatches}};
}

ordered_json recompute_section(const LayoutChoice& choice) {
  return {{"description",
           "activations that the backward pass recomputes: none, selective (inside attention) or "
           "full (whole layers)"},
          {"mode", choice.recompute}};
}

ordered_json memory_section(const LayoutChoice& choice) {
  return {{"description",
           "zero 1 shards the optimizer state over replicas, 2 gradients too, 3 parameters too. "
           "capacity_bytes defaults to the memory of the device"},
          {"zero", choice.zero}};
}

}  // namespace

std::string starter_document(const TrainingTask& task, const LayoutChoice& choice) {
  const std::string model = std::filesystem::path(task.model).filename().string();
  return printed(ordered_json{
      {"penstock", 1},
      {"description", fmt::format("{} on {} devices of {}, written by penstock new", model,
                                  task.devices, task.hardware)},
      {"model", model_section(task, choice)},
      {"hardware", hardware_section(task)},
      {"partition",
       {{"description",
         "how layers are cut into stages; even: the same number of layers in each stage"},
        {"name", "even"}}},
      {"parallel", parallel_section(task, choice)},
      {"schedule", schedule_section(task, choice)},
      {"recompute", recompute_section(choice)},
      {"memory", memory_section(choice)}});
}

}  // namespace penstock
