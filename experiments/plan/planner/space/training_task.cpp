#include "experiments/plan/planner/space/training_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "experiments/input/catalogue/machine_option.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
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
  const auto& blocks = model.spec.blocks;
  const auto count = std::count_if(blocks.begin(), blocks.end(),
                                   [](const BlockSpec& block) { return block.cut_evenly; });
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

}  // namespace

std::string path_seen_from(const std::string& folder, const std::string& path) {
  const bool here = folder.empty() || fs::weakly_canonical(folder) == fs::current_path();
  if (here || fs::path(path).is_absolute()) return path;
  const fs::path absolute = fs::absolute(path);
  const fs::path real = fs::weakly_canonical(absolute.parent_path()) / absolute.filename();
  return real.lexically_relative(fs::weakly_canonical(folder)).string();
}

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
      .machine_devices = machine_of_option(catalogue, request.hardware).devices,
      .sequence = request.sequence,
      .microbatch = request.microbatch.value_or(1),
      .states_microbatch = request.microbatch.has_value(),
      .settings = request.settings,
      .changes = request.changes,
      .writer = request.writer};
  const Scenario scenario = parse_scenario(layout_document(task, {}), task.source);
  task.by_kind = scenario.model.by_kind();
  task.layers = layers_of(scenario.model);
  task.heads = divisor_of_all(scenario.model.spec, "heads");
  task.experts = std::max<std::uint64_t>(divisor_of_all(scenario.model.spec, "experts"), 1);
  task.sequence = sequence_of(request, scenario.model);
  take_batch(request, scenario, task);
  return task;
}

}  // namespace penstock
