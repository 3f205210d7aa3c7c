#include <nlohmann/json.hpp>

#include "experiments/measure/causes/causes.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/explanation/memory_explanation.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"

namespace penstock::explain_file {
namespace {

struct Options : Arguments {
  Texts runs = line.input().required_list(
      "RUN",
      "scenario file (JSON) or .timeline file, - for standard input; several .timeline files are "
      "iterations of the first");
  Texts settings = line.settings("change the run first; of a timeline: /chance, /overheads");
  Flag json = line.json("print everything as JSON");
  Flag memory =
      line.flag("--memory", "explain memory instead: the worst rank, why, and changes that help");
  Flag causes = line.flag("--causes", "what each cause cost, also in a run that was not measured");
  Texts without = line.list("--without",
                            "take a cause out first: rank=7, link=0>1, stage=2, gaps=3, or ranks, "
                            "links, stages, gaps, replicas, microbatches, jitter, collectives",
                            "CAUSE");
  Text expected = line.input().option(
      "--expected", "scenario or timeline with what stages should take, for slow ranks", "RUN");
  Text heat_map = line.option("--heat-map", "draw the slowdown of ranks", "FILE");
  PictureFiles pictures{{line}};
  const Existing& replaced = line.replaces();

  const std::string& run() const { return runs.front(); }
  /// Whether the explanation of times is printed.
  bool prints() const { return !memory && !on_standard_output(pictures) && heat_map != "-"; }
  bool asks_for_causes() const {
    return causes || !without.empty() || !expected.empty() || !heat_map.empty() || runs.size() > 1;
  }
};

void print_memory(const Options& options, const Scenario& scenario, const RunResult& result) {
  std::optional<Waiting> waiting("trying changes");
  const MemoryExplanation explanation = explain_memory(scenario, result);
  waiting.reset();
  show(options.json ? printed(memory_explanation_json(result, explanation))
                    : memory_explanation_text(result, explanation));
}

/// What a run is explained with, beside its times.
struct Studied {
  std::optional<Counterfactual> changed;
  std::optional<StepCauses> causes;
};

/// The other iterations, and the first.
std::vector<Timeline> iterations_of(const Options& options, const Recording& first) {
  std::vector<Timeline> all{first.timeline};
  for (std::size_t i = 1; i < options.runs.size(); ++i) {
    Recording other = read_recording(options.runs[i]);
    if (plan_hash(other.plan) != plan_hash(first.plan)) {
      throw InputError(fmt::format("{}: it has another plan than {}; iterations have one plan",
                                   options.runs[i], options.run()));
    }
    all.push_back(std::move(other.timeline));
  }
  return all;
}

/// Of a measured run, and of any that is asked for. `settings`: those of a timeline.
Studied study(const Options& options, Recording& recording,
              const std::vector<std::string>& settings) {
  const MeasuredChanges changes{options.without, settings};
  const bool measured = !recording.timeline.environment.empty();
  Studied studied;
  if (!measured && !options.asks_for_causes() && changes.empty()) return studied;
  if (const auto why = why_no_causes(recording.plan, recording.timeline)) {
    if (!options.asks_for_causes() && changes.empty()) return studied;
    throw InputError(fmt::format("{}: it has no causes to report: {}", options.run(), *why));
  }
  const Waiting waiting("taking causes out");
  std::optional<ExpectedOps> expected;
  if (!options.expected.empty()) expected = expected_ops(recording_of(options.expected));
  const ExpectedOps* const stages = expected ? &*expected : nullptr;
  const std::vector<Timeline> iterations = iterations_of(options, recording);
  if (!changes.empty()) {
    studied.changed = counterfactual(recording, options.run(), changes, stages);
    recording = studied.changed->run;
  }
  studied.causes = causes_of(recording.plan, recording.timeline, stages,
                             changes.empty() ? iterations : std::vector<Timeline>{});
  return studied;
}

std::string text_of(const RunResult& run, const Explanation& explanation, const Studied& studied) {
  return (studied.changed ? changed_text(*studied.changed) : "") +
         explanation_text(run, explanation) +
         (studied.causes ? "\n" + causes_text(*run.plan, *studied.causes) : "");
}

nlohmann::ordered_json json_of(const RunResult& run, const Explanation& explanation,
                               const Studied& studied) {
  nlohmann::ordered_json all = explanation_json(run, explanation);
  if (studied.changed) all["counterfactual"] = changed_json(*studied.changed);
  if (studied.causes) all["causes"] = causes_json(*run.plan, *studied.causes);
  return all;
}

/// Writes the pictures of a run and prints what explains it.
void put_out(const Options& options, const RunResult& run, const Explanation& explanation,
             const Studied& studied) {
  OutputSet outputs(options.replaced);
  write_pictures(options.pictures, run, outputs,
                 {explanation.gaps, tasks_of(run.report->critical_path)});
  if (!options.heat_map.empty()) {
    HeatMap map = heat_map_of(*studied.causes);
    map.options = options_of(options.pictures.look);
    outputs.write(options.heat_map, draw_heat_map(picture_format(options.heat_map), map));
  }
  outputs.publish();
  if (!options.prints()) return;
  show(options.json ? printed(json_of(run, explanation, studied))
                    : text_of(run, explanation, studied));
}

/// Of a run as its times tell it.
int explain_recording(const Options& options, Recording recording,
                      const std::vector<std::string>& settings) {
  const Studied studied = study(options, recording, settings);
  const RunResult run = run_of_recording(std::move(recording));
  put_out(options, run, explain_recorded(run), studied);
  return ExitCode::done;
}

int explain_scenario(const Options& options, const Scenario& scenario) {
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
  Studied studied;
  if (options.asks_for_causes()) {
    Recording recording{*result.plan, result.timeline, result.title};
    studied = study(options, recording, {});
  }
  waiting.emplace("explaining");
  const Explanation explanation = options.prints() ? explain(scenario, result) : explain(result);
  waiting.reset();
  put_out(options, result, explanation, studied);
  return code;
}

int explain_run(const Options& options) {
  check(options.pictures, !options.heat_map.empty());
  const std::string content = read_file(options.run());
  std::vector<std::string> outputs_to = paths_of(options.pictures);
  if (!options.heat_map.empty()) outputs_to.push_back(options.heat_map);
  outputs_to.push_back(json_output(options.json));
  check_outputs(outputs_to, options.runs, options.replaced);
  const bool recorded = is_recording(options.run(), content);
  if (!recorded && options.runs.size() > 1) {
    parse_scenario(content, options.run());  // says what else it may be
    throw UsageError(fmt::format("{} is a scenario; only .timeline files are iterations of a run",
                                 options.run()));
  }
  if (options.memory && recorded) {
    throw UsageError(
        fmt::format("--memory: {} is a timeline; it goes with a scenario", options.run()));
  }
  if (options.memory && options.asks_for_causes()) {
    throw UsageError("--memory explains no causes; leave out one of the two");
  }
  if (!recorded && options.without.empty()) {
    return explain_scenario(options, parse_scenario(content, options.run(), options.settings));
  }
  // Causes are taken out of the times of a run, whatever these come from.
  return recorded
             ? explain_recording(options, parse_recording(options.run(), content), options.settings)
             : explain_recording(options, recording_in(options.run(), content, options.settings),
                                 {});
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
