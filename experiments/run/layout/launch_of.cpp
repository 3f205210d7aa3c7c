#include "experiments/run/layout/launch_of.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "experiments/input/formats/registry.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// Devices of one host. A rack such as GB200 NVL72 is 18 hosts of 4 (NVIDIA, GB200 NVL72).
std::uint32_t host_devices_of(const Machine& machine) {
  constexpr std::uint64_t most = 16, of_rack_host = 4;
  return static_cast<std::uint32_t>(machine.devices > most ? of_rack_host : machine.devices);
}

void take_degrees(const Layout& layout, TrainingCommand& command) {
  const Degrees& degrees = layout.degrees;
  command.tensor = degrees.tensor;
  command.pipeline = layout.placement.ranks();
  command.chunks = chunks_of(layout);
  command.data = degrees.data;
  command.context = degrees.context;
  command.expert = degrees.expert;
  command.expert_tensor = degrees.expert_tensor;
  command.devices = static_cast<std::uint32_t>(devices_of(layout));
  command.sequence_parallel = degrees.sequence_parallel;
  // Without effect where activations are sharded already.
  const bool idle = degrees.tensor == 1 || degrees.sequence_parallel;
  command.scatter_gather = degrees.scatters || idle;
  command.overlap_experts = degrees.overlaps_experts;
  command.overlap_shared_expert = degrees.overlaps_shared;
  command.narrow_gathers = degrees.narrow_gathers;
  const auto& machine = layout.hardware.spec.machine;
  const bool of_stack = machine && machine->device.stack.deduplicates;
  command.dispatcher = degrees.deduplicates.value_or(of_stack) ? TokenDispatch::deduplicated
                                                               : TokenDispatch::alltoall;
  command.overlap_gathers = layout.memory.zero > 0 && overlaps_gathers(layout);
}

void take_memory(const Scenario& scenario, const Layout& layout, TrainingCommand& command) {
  const RecomputeSection& recompute = layout.recompute;
  command.recompute = recompute.mode.value_or(RecomputeMode::none);
  if (command.recompute == RecomputeMode::selective) {
    command.recompute_operators = recompute.operators;
  }
  command.recompute_layers = recompute.layers;
  if (recompute.together > 1) command.recompute_together = recompute.together;
  if (layout.offloaded_layers > 0) command.offload_layers = layout.offloaded_layers;
  command.optimizer = scenario.memory.optimizer;
  command.gradients = scenario.memory.gradients;
  command.zero = layout.memory.zero;
  command.shard_groups = layout.memory.shard_groups;
}

void take_batch(const Layout& layout, TrainingCommand& command) {
  command.microbatch = static_cast<std::uint32_t>(layout.batch.microbatch.value_or(1));
  command.global_batch = static_cast<std::uint32_t>(global_batch_of(layout));
  command.microbatches = layout.microbatches;
  command.sequence = layout.batch.sequence;
}

/// What Megatron-LM alone has arguments for, where it is not as the stack has it.
std::vector<std::string> settings_of_megatron(const Layout& layout,
                                              const TrainingCommand& command) {
  std::vector<std::string> all;
  const auto add = [&](bool differs, const char* setting) {
    if (differs) all.emplace_back(setting);
  };
  const auto& machine = layout.hardware.spec.machine;
  const bool gathers = layout.memory.zero == 1 || layout.memory.zero == 2;
  if (machine && gathers && command.overlap_gathers != machine->device.stack.overlaps_gathers) {
    all.push_back(fmt::format("/parallel/overlap_gathers={}", *command.overlap_gathers));
  }
  add(command.fp8_attention.value_or(false), "/model/fp8_attention=true");
  add(command.narrow_gathers.value_or(false), "/parallel/narrow_gathers=true");
  add(command.overlap_shared_expert.value_or(false), "/parallel/overlap_shared_expert=true");
  return all;
}

/// What no framework has arguments for.
std::vector<std::string> settings_of_none(const MemorySection& memory, const std::string& dtype) {
  constexpr std::array names{"bf16", "fp16", "fp32"};
  if (memory.bytes_per_parameter) return {"/memory/bytes_per_parameter"};
  if (memory.precision == usual_precision(dtype)) return {};
  return {fmt::format("/memory/precision={}", names[static_cast<std::size_t>(memory.precision)])};
}

}  // namespace

TrainingLaunch launch_of(const Scenario& scenario, const Layout& layout, std::string name) {
  if (layout.module) {
    throw InputError("/modules", "a launch file has one set of degrees for all layers");
  }
  TrainingLaunch launch{.name = std::move(name),
                        .model = layout.spec,
                        .details = scenario.model.details,
                        .stages = layout.partition.stages,
                        .overlaps_sums = layout.degrees.overlaps_sums,
                        .order = &layout.schedule};
  if (const auto& machine = layout.hardware.spec.machine) {
    launch.host_devices = host_devices_of(*machine);
    launch.command.stack = machine->device.stack.name;
  }
  take_degrees(layout, launch.command);
  take_memory(scenario, layout, launch.command);
  take_batch(layout, launch.command);
  launch.command.dtype = scenario.model.dtype.value_or("bf16");
  launch.command.fp8_attention = scenario.model.fp8_attention;
  launch.command.schedule = layout.rule != nullptr ? layout.rule->name : layout.name;
  launch.command.partition = scenario.partition.name;
  launch.of_megatron = settings_of_megatron(layout, launch.command);
  launch.of_none = settings_of_none(scenario.memory, *launch.command.dtype);
  return launch;
}

std::vector<LaunchFile> launch_files(const TrainingLaunch& launch, std::string_view format) {
  return find_named(format_entries(), format)->write_launch(launch);
}

std::vector<LaunchFile> launch_files_beside(const std::string& path, const std::string& text,
                                            std::string_view format) {
  const Scenario scenario = parse_scenario(text, path);
  const Layout layout = settle(scenario);
  const std::string name = std::filesystem::path(path).stem().string();
  return launch_files(launch_of(scenario, layout, name), format);
}

}  // namespace penstock
