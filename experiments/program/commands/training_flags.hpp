#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/plan/planner/space/read_training_task.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock {

/// Options of what is trained, and on what.
struct TrainingFlags {
  std::string model, hardware;
  std::optional<std::uint32_t> devices, sequence, microbatch, global_batch;
};

/// All but the model.
inline void declare(CommandLine& line, TrainingFlags& flags) {
  line.option("--hardware", flags.hardware, "a machine (penstock list hardware), or its file",
              "NAME|FILE");
  line.suggest("--hardware", suggested_machines);
  line.option("--devices", flags.devices, "devices to lay the model out on");
  line.option("--sequence", flags.sequence, "tokens of an example; default 4096 or the file's");
  line.option("--microbatch", flags.microbatch,
              "examples that a device works on at a time; default: that of a script, else tries 1, "
              "2, 4, 8");
  line.option("--global-batch", flags.global_batch,
              "examples of an iteration; default: that of a training script, else 8 per device, "
              "fewer above 128 devices");
}

/// Throws UsageError for numbers that are too large.
inline TrainingRequest request_of(const TrainingFlags& flags) {
  constexpr std::uint32_t most_devices = 16'384, most = 1'000'000'000;
  const auto checked = [](const char* name, std::optional<std::uint32_t> value) {
    return value ? std::optional(within(name, value, most)) : std::nullopt;
  };
  return {.model = flags.model,
          .hardware = flags.hardware,
          .devices = within("--devices", flags.devices, most_devices),
          .sequence = checked("--sequence", flags.sequence),
          .microbatch = checked("--microbatch", flags.microbatch),
          .global_batch = checked("--global-batch", flags.global_batch)};
}

}  // namespace penstock
