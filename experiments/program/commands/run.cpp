#include "experiments/run/run.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/program/pages/run_page.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/results/chakra_files.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"
#include "sim/report/memory.hpp"

namespace penstock::run_file {
namespace {

struct Options : Arguments {
  Text scenario = line.scenario();
  Texts settings = line.settings();
  Flag json = line.json("print the result as JSON");
  Flag all = line.flag("--all", "show every rank, also where there are more than ten");
  Flag verbose = line.flag("--verbose", "show what ranks hold that run out of memory");
  Flag allow_stale =
      line.flag("--allow-stale", "use rows of a profile store that are suspect, too");
  Text engine = line.choice(
      "--engine", {"auto", "relax", "events"},
      "how to simulate: by longest path, event by event, or by the first where it is right",
      "auto");
  Number repeat = line.number(
      "--repeat", "simulate N draws of chance, and report how the makespan is distributed");
  CostFlags costs{{line}};
  Text order = line.option("--write-order", "write the order that was run as PyTorch CSV", "FILE");
  Text timeline = line.option("--timeline", "write the timeline", "FILE");
  Text trace = line.option("--trace", "write a Chrome trace (.json or .json.gz)", "FILE");
  Text chakra = line.option("--chakra",
                            "write Chakra traces and a configuration for ASTRA-sim: PREFIX.0.et, …",
                            "PREFIX");
  Text html = line.option("--html", "write a page: summary, timeline, explanation", "FILE");
  PictureFiles pictures{{line}};
  const Existing& replaced = line.replaces();
};

/// Throws UsageError if the prefix of traces is invalid or matches another output.
void check_chakra_prefix(const std::string& prefix, const std::vector<std::string>& others) {
  if (prefix.empty()) return;
  if (prefix == "-") {
    throw UsageError("--chakra -: several files cannot go to standard output; give a PREFIX");
  }
  if (prefix.ends_with('/')) {
    throw UsageError(
        fmt::format("--chakra {}: it is a folder; give the beginning of names in it", prefix));
  }
  for (const std::string& path : others) {
    if (!is_chakra_path(prefix, path)) continue;
    throw UsageError(
        fmt::format("{}: two outputs cannot be one file; --chakra {} may take it", path, prefix));
  }
}

/// The output files, without traces. Refuses those that conflict, before any work.
std::vector<std::string> outputs_of(const Options& options) {
  std::vector<std::string> paths = paths_of(options.pictures);
  for (const std::string* path :
       {&options.order, &options.trace, &options.timeline, &options.html}) {
    if (!path->empty()) paths.push_back(*path);
  }
  std::vector<std::string> outputs = paths;
  outputs.push_back(json_output(options.json));
  check_outputs(outputs, {options.scenario}, options.replaced);
  check_chakra_prefix(options.chakra, paths);
  check(options.pictures);
  return paths;
}

void write_order(const std::string& path, const Layout& layout, OutputSet& outputs) {
  const TorchCsv csv = write_torch_csv(layout.schedule, cells_to_write(layout));
  const std::string lost =
      lost_text(layout.schedule, csv.left_out, layout.slices, layout.schedule.weights().use);
  if (!lost.empty()) say(lost);
  outputs.write(path, csv.text);
}

void write_trace(const std::string& path, const RunResult& result, const OnProgress& on_progress,
                 OutputSet& outputs) {
  OutputFile& file = outputs.add(path);
  write_chrome_trace(
      *result.plan, result.costs, result.timeline, result.title,
      [&](std::string_view piece) { file.write(piece); }, on_progress);
  file.close();
}

void write_chakra(const std::string& prefix, const RunResult& result, ProgressBar& bar,
                  OutputSet& outputs) {
  const std::vector<std::string> all_missing =
      write_chakra_files(prefix, result, outputs, bar.callback());
  bar.erase();
  for (const std::string& missing : all_missing) say("Chakra traces: " + missing);
}

/// An unfinished run has nothing to draw.
void write_outputs(const Options& options, bool any, const Scenario& scenario, RunResult& result,
                   ProgressBar& bar) {
  if (!result.plan) {
    if (any) {
      say("the run did not finish: nothing was drawn or written");
    }
    return;
  }
  OutputSet outputs(options.replaced);
  if (!options.order.empty()) write_order(options.order, result.layout, outputs);
  if (!options.trace.empty() || !options.timeline.empty()) {
    memory_peaks(*result.plan, result.costs, result.timeline, &result.timeline.memory);
  }
  if (!options.trace.empty()) {
    write_trace(options.trace, result, bar.callback(), outputs);
  }
  if (!options.timeline.empty()) {
    bar.erase();
    const Waiting waiting("writing the timeline");
    outputs.write(options.timeline, recording_text(*result.plan, result.timeline, result.title));
  }
  if (!options.chakra.empty()) write_chakra(options.chakra, result, bar, outputs);
  bar.erase();
  const Waiting waiting("drawing");
  write_pictures(options.pictures, result, outputs);
  if (!options.html.empty()) {
    OutputFile& page = outputs.add(options.html);
    write_page(run_page(scenario, result), [&](std::string_view piece) { page.write(piece); });
    page.close();
  }
  outputs.publish();
}

Engine engine_of(const Options& options) {
  if (options.engine == "relax") return Engine::relax;
  return options.engine == "events" ? Engine::events : Engine::automatic;
}

/// Memory for each cell, of the run and of all that is made of it; one after the other.
double bytes_of(const Options& options) {
  double most = options.json ? CellBytes::json : 0;
  const auto add = [&](bool made, double bytes) { most = std::max(most, made ? bytes : 0); };
  add(options.repeat.has_value(), CellBytes::draws);
  add(!options.timeline.empty() || !options.chakra.empty(), CellBytes::timeline);
  add(!options.trace.empty(), CellBytes::trace);
  add(!options.html.empty(), CellBytes::page);
  add(!paths_of(options.pictures).empty(), CellBytes::picture);
  return CellBytes::run + most;
}

/// Draws report their own progress.
RunResult simulated(const Options& options, const Scenario& scenario, std::uint32_t repeat,
                    ProgressBar& bar) {
  std::optional<Waiting> waiting;
  if (repeat == 0) waiting.emplace("simulating");
  return run(
      settle(scenario, {.allows_stale = options.allow_stale, .bytes_per_cell = bytes_of(options)}),
      {.engine = engine_of(options),
       .repeat = repeat,
       .on_progress = bar.callback(),
       .training = training_of(options.costs)});
}

int run_scenario(const Options& options) {
  const std::vector<std::string> paths = outputs_of(options);
  const std::uint32_t repeat = options.repeat ? within("--repeat", options.repeat, most_draws) : 0;
  const Scenario scenario = read_scenario(options.scenario, options.settings);
  if (repeat > 0 && !scenario.chance.varies() && !scenario.batch) {
    say("--repeat: all draws are equal, since nothing varies; add --set /chance/jitter=0.05");
  }
  ProgressBar bar;
  RunResult result = simulated(options, scenario, repeat, bar);
  add_unmet_expectations(scenario.expect, result);
  write_outputs(options, !paths.empty() || !options.chakra.empty(), scenario, result, bar);
  bar.erase();
  // An output on standard output would be mixed with the report.
  if (std::find(paths.begin(), paths.end(), "-") == paths.end()) {
    show(options.json ? printed(result_json(result))
                      : result_table(result, {.all = options.all, .verbose = options.verbose}));
  }
  return result.findings.empty() ? ExitCode::done : ExitCode::finding;
}

}  // namespace

constinit extern const CommandEntry run_entry{
    .name = "run",
    .summary = "simulate a scenario: step time, bubble, memory",
    .group = CommandGroup::simulate,
    .on_first_screen = true,
    .example = "penstock run first_run.json --set /schedule/name=zb-h1",
    .declare = command<Options, run_scenario>,
};

}  // namespace penstock::run_file
