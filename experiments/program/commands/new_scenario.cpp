#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/starter/small_starter.hpp"
#include "experiments/plan/starter/starter.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::new_scenario_file {
namespace {

struct Options {
  std::string model;
  std::string hardware;
  std::optional<std::uint32_t> devices, sequence, microbatch, global_batch;
  std::string output;
  Existing replaced = Existing::own;
};

/// Model, machine and devices must be given together; the other options need them.
bool asks_for_layout(const Options& options) {
  const bool all = !options.model.empty() && !options.hardware.empty() && options.devices;
  if (all) return true;
  const bool any = !options.model.empty() || !options.hardware.empty() || options.devices ||
                   options.sequence || options.microbatch || options.global_batch;
  if (!any) return false;
  const char* missing = options.model.empty()      ? "--model"
                        : options.hardware.empty() ? "--hardware"
                                                   : "--devices";
  throw UsageError(fmt::format(
      "{} is missing; give --model, --hardware and --devices, or none of them", missing));
}

std::optional<std::uint32_t> checked(const char* option, std::optional<std::uint32_t> value) {
  constexpr std::uint32_t most = 1'000'000'000;
  if (!value) return std::nullopt;
  return within(option, value, most);
}

TrainingRequest request_of(const Options& options) {
  constexpr std::uint32_t most_devices = 16'384;
  return {.model = options.model,
          .hardware = options.hardware,
          .devices = within("--devices", options.devices, most_devices),
          .sequence = checked("--sequence", options.sequence),
          .microbatch = checked("--microbatch", options.microbatch),
          .global_batch = checked("--global-batch", options.global_batch),
          .output = options.output};
}

int write_starter(const Options& options) {
  const std::string path = options.output.empty() ? "-" : options.output;
  check_outputs({path}, {options.model, options.hardware}, options.replaced);
  if (!asks_for_layout(options)) {
    write_file(path, small_starter(), options.replaced);
    return ExitCode::done;
  }
  read_file(options.model);  // errors of the file itself come before those of layouts
  ProgressBar progress;
  const Starter starter = find_starter(request_of(options), progress.callback());
  progress.erase();
  if (starter.found()) write_file(path, starter.text, options.replaced);
  for (const std::string& line : summary_of(starter)) say(line);
  return starter.found() ? ExitCode::done : ExitCode::finding;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.option("--model", options->model, "a model's file", "FILE");
  line.option("--hardware", options->hardware, "a machine (penstock list hardware), or its file",
              "NAME|FILE");
  line.suggest("--hardware", suggested_machines);
  line.option("--devices", options->devices, "devices to lay the model out on");
  line.option("--sequence", options->sequence, "tokens of an example; default 4096 or the file's");
  line.option("--microbatch", options->microbatch,
              "examples that a device works on at a time; default: tries 1, 2, 4 and 8");
  line.option("--global-batch", options->global_batch,
              "examples of an iteration; default 8 per device, fewer above 128 devices");
  line.option("-o,--output", options->output, "write the scenario here, not to standard output",
              "FILE");
  line.replaces(options->replaced);
  return [options] { return write_starter(*options); };
}

}  // namespace

constinit extern const CommandEntry new_scenario_entry{
    .name = "new",
    .summary = "write a scenario to start from, for a model if one is given",
    .group = CommandGroup::simulate,
    .on_first_screen = true,
    .example = "penstock new --model config.json --hardware dgx-h100 --devices 64 -o my.json",
    .declare = declare,
};

}  // namespace penstock::new_scenario_file
