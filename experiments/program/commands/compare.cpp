#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/recordings.hpp"

namespace penstock::compare_file {
namespace {

struct Options : Arguments {
  Text a =
      line.input().required("A", "a .timeline file, or a scenario to run; - for standard input");
  Text b = line.input().required("B", "the same, compared with A");
  Texts settings = line.settings("change the scenario B first");
  Text alignment = line.choice("--align", {"start", "first-op", "makespan"},
                               "what to align: the starts of the runs, their first ops, or starts "
                               "and ends, with the times of B scaled",
                               "start");
  Text tolerance =
      line.option("--tolerance", "how far times may differ, as a share of A's makespan; default 0",
                  "SHARE", {}, "0");
  Flag causes =
      line.flag("--causes", "report what each cause cost, also runs that were not measured");
  Flag json = line.json("print everything as JSON, every op included");
};

double parse_tolerance(const std::string& text) {
  const auto value = plain_number(text);
  if (value && *value >= 0 && *value <= 1) return *value;
  throw UsageError(fmt::format(
      "--tolerance {}: expected a share of A's makespan from 0 to 1, such as 0.005", text));
}

CompareOptions compare_options(const Options& options) {
  CompareOptions result{.tolerance = parse_tolerance(options.tolerance)};
  if (options.alignment == "first-op") result.alignment = Alignment::first_op;
  if (options.alignment == "makespan") result.alignment = Alignment::makespan;
  return result;
}

/// Of two measured runs, and of any that it is asked for.
std::vector<CauseChange> causes_of_both(const Options& options, const Recording& a,
                                        const Recording& b) {
  const auto has_causes = [&](const std::string& path, const Recording& run) {
    const auto why = why_no_causes(run.plan, run.timeline);
    if (why && options.causes) {
      throw InputError(fmt::format("{}: it has no causes to report: {}", path, *why));
    }
    return !why && (options.causes || !run.timeline.environment.empty());
  };
  if (!has_causes(options.a, a) || !has_causes(options.b, b)) return {};
  return changes_of_causes(a, b);
}

ComparedRun compared_run(const std::string& path, const std::vector<std::string>& settings) {
  RecordedRun run = recording_in(path, read_file(path), settings);
  const std::optional<Layout> layout = std::move(run.layout);
  ComparedRun compared{path, std::move(run)};
  undo_time_scale(compared.recording.timeline);
  if (layout) compared.work = step_work_of(*layout, compared.recording);
  return compared;
}

int compare_runs(const Options& options) {
  CompareOptions how = compare_options(options);
  if (options.a == "-" && options.b == "-") {
    throw UsageError("standard input can be A or B, but not both");
  }
  std::optional<Waiting> waiting("simulating");
  const ComparedRun a = compared_run(options.a, {});
  const ComparedRun b = compared_run(options.b, options.settings);
  how.resolution =
      std::max(resolution_of(a.recording.timeline), resolution_of(b.recording.timeline));
  const Comparison comparison =
      compare(a.recording.plan, a.recording.timeline, b.recording.plan, b.recording.timeline, how);
  const std::vector<CauseChange> causes = causes_of_both(options, a.recording, b.recording);
  waiting.reset();
  if (comparison.ops.empty()) {
    throw InputError(
        fmt::format("{}: none of its {} ops is among the {} ops of {}; compare runs whose plans "
                    "share stages and microbatches",
                    options.b, b.recording.plan.tasks(), a.recording.plan.tasks(), options.a));
  }
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
  if (!causes.empty()) more["by_cause"] = cause_changes_json(causes);
  std::string text =
      options.json ? comparison_json(a, b, comparison, &more) : comparison_text(a, b, comparison);
  if (!options.json && !causes.empty()) text += "\n" + cause_changes_text(causes);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return comparison.same() ? ExitCode::done : ExitCode::finding;
}

}  // namespace

constinit extern const CommandEntry compare_entry{
    .name = "compare",
    .summary = "compare two runs, simulated or measured, op by op",
    .group = CommandGroup::explain,
    .on_first_screen = true,
    .example = "penstock compare first_run.json first_run.json --set /schedule/name=zb-h1",
    .declare = command<Options, compare_runs>,
};

}  // namespace penstock::compare_file
