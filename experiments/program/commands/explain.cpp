#include <nlohmann/json.hpp>

#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"

namespace penstock::explain_file {
namespace {

struct Options : Arguments {
  Text scenario =
      line.input().required("RUN", "scenario file (JSON) or .timeline file, - for standard input");
  Texts settings = line.settings();
  Flag json = line.json("print everything as JSON");
  Flag memory =
      line.flag("--memory", "explain memory instead: the worst rank, why, and changes that help");
  PictureFiles pictures{{line}};
  const Existing& replaced = line.replaces();
};

void print_memory(const Options& options, const Scenario& scenario, const RunResult& result) {
  std::optional<Waiting> waiting("trying changes");
  const MemoryExplanation explanation = explain_memory(scenario, result);
  waiting.reset();
  show(options.json ? printed(memory_explanation_json(result, explanation))
                    : memory_explanation_text(result, explanation));
}

/// Of a run that a `.timeline` file has.
int explain_recording(const Options& options, const std::string& content) {
  if (!options.settings.empty() || options.memory) {
    throw UsageError(fmt::format("{}: {} is a timeline; it goes with a scenario",
                                 options.memory ? "--memory" : "--set " + options.settings.front(),
                                 options.scenario));
  }
  const RunResult run = run_of_recording(parse_recording(options.scenario, content));
  const Explanation explanation = explain_recorded(run);
  OutputSet outputs(options.replaced);
  write_pictures(options.pictures, run, outputs,
                 {explanation.gaps, tasks_of(run.report->critical_path)});
  outputs.publish();
  if (on_standard_output(options.pictures)) return ExitCode::done;
  show(options.json ? printed(explanation_json(run, explanation))
                    : explanation_text(run, explanation));
  return ExitCode::done;
}

int explain_run(const Options& options) {
  check(options.pictures);
  const std::string content = read_file(options.scenario);
  check_outputs(paths_of(options.pictures), {options.scenario}, options.replaced);
  if (is_recording(options.scenario, content)) return explain_recording(options, content);
  const Scenario scenario = parse_scenario(content, options.scenario, options.settings);
  std::optional<Waiting> waiting("simulating");
  const RunResult result =
      options.memory
          ? run_for_memory(scenario)
          : run(settle(scenario, {.bytes_per_cell = CellBytes::run + CellBytes::explanation}));
  waiting.reset();
  const int code = result.findings.empty() ? ExitCode::done : ExitCode::finding;
  if (!result.report) {  // a deadlock: its finding is the explanation
    show(options.json ? printed(result_json(result)) : result_table(result));
    return code;
  }
  if (options.memory && !on_standard_output(options.pictures)) {
    print_memory(options, scenario, result);
  }
  if (options.memory && paths_of(options.pictures).empty()) return code;
  waiting.emplace("explaining");
  Explanation explanation = explain(result);
  const bool prints = !options.memory && !on_standard_output(options.pictures);
  if (prints) explanation.changes = faster_changes(scenario, result);
  waiting.reset();
  OutputSet outputs(options.replaced);
  write_pictures(options.pictures, result, outputs,
                 {explanation.gaps, tasks_of(result.report->critical_path)});
  outputs.publish();
  if (!prints) return code;
  show(options.json ? printed(explanation_json(result, explanation))
                    : explanation_text(result, explanation));
  return code;
}

}  // namespace

constinit extern const CommandEntry explain_entry{
    .name = "explain",
    .summary = "show where the time goes and what to change first",
    .group = CommandGroup::explain,
    .on_first_screen = true,
    .example = "penstock explain first_run.json",
    .declare = command<Options, explain_run>,
};

}  // namespace penstock::explain_file
