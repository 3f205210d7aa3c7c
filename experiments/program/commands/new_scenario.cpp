#include "experiments/plan/starter/starter.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::new_scenario_file {
namespace {

struct Options : Arguments {
  TrainingFlags training{{line}, line.input().option("--model", "a model's file", "FILE")};
  Text output =
      line.option("-o,--output", "write the scenario here, not to standard output", "FILE");
  const Existing& replaced = line.replaces();
};

/// Model, machine and devices must be given together; the other options need them.
bool asks_for_layout(const TrainingFlags& options) {
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

int write_starter(const Options& options) {
  const std::string path = options.output.empty() ? "-" : options.output;
  const TrainingFlags& training = options.training;
  check_outputs({path}, {training.model, training.hardware}, options.replaced);
  if (!asks_for_layout(training)) {
    write_file(path, small_starter(), options.replaced);
    return ExitCode::done;
  }
  read_file(training.model);  // errors of the file itself come before those of layouts
  ProgressBar progress;
  TrainingRequest request = request_of(training);
  request.output = options.output;
  const Starter starter = find_starter(request, progress.callback());
  progress.erase();
  if (starter.found()) write_file(path, starter.text, options.replaced);
  for (const std::string& line : summary_of(starter)) say(line);
  return starter.found() ? ExitCode::done : ExitCode::finding;
}

}  // namespace

constinit extern const CommandEntry new_scenario_entry{
    .name = "new",
    .summary = "write a scenario to start from, for a model if one is given",
    .group = CommandGroup::simulate,
    .on_first_screen = true,
    .example = "penstock new --model llama-3.1-8b.json --hardware dgx-h100 --devices 64 -o my.json",
    .declare = command<Options, write_starter>,
};

}  // namespace penstock::new_scenario_file
