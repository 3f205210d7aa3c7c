#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/changes/change_plan.hpp"
#include "experiments/plan/planner/framework_gain.hpp"
#include "experiments/plan/planner/plan_answers.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/layout/launch_of.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"
#include "sim/base/limits.hpp"

namespace penstock::layout_file {
namespace {

/// The scenario of a number in a folder: "layout_1.json", "change_1.json".
std::string scenario_in(const std::string& folder, const char* kind, std::size_t number) {
  return (std::filesystem::path(folder) / fmt::format("{}_{}.json", kind, number)).string();
}

/// Throws UsageError where one of these scenarios must not be replaced, before it is searched for.
void check_folder(const std::string& folder, const char* kind, std::size_t most,
                  Existing replaced) {
  if (folder.empty()) return;
  for (std::size_t number = 1; number <= most; ++number) {
    check_replaced(scenario_in(folder, kind, number), replaced);
  }
}

/// Names scenarios behind the last one that was written.
void say_what_is_older(const std::string& folder, const char* kind, std::size_t written) {
  std::size_t last = written;
  while (std::filesystem::exists(scenario_in(folder, kind, last + 1))) ++last;
  if (last == written) return;
  const std::string first = scenario_in(folder, kind, written + 1);
  say(first + (last == written + 1 ? "" : " and those behind it") + ": older, not of this answer");
}

/// Writes the scenario of each of the best layouts as layout_1.json, layout_2.json … into a folder,
/// which is made if it is missing, and what starts it with a framework. Paths in the scenarios are
/// relative to it. Throws UsageError for a folder that cannot be made or written. Returns how many.
std::size_t write_layouts(const LayoutPlan& plan, std::size_t best, const std::string& folder,
                          OutputSet& outputs) {
  outputs.make_folder(folder);
  const Framework* framework = plan.task.framework;
  const auto rows = best_families(plan, best);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string path = scenario_in(folder, "layout", i + 1);
    const std::string text = moved_text(layout_document(plan.task, rows[i].best->choice), folder);
    // Not every format of what starts it has a place for a mark.
    const Existing beside = is_own_file(path) ? Existing::any : Existing::own;
    outputs.write(path, text);
    if (framework == nullptr) continue;
    for (const LaunchFile& file : launch_files_beside(path, text, framework->format)) {
      const auto place = std::filesystem::path(path).replace_extension();
      outputs.write(place.string() + file.suffix, file.text, beside);
      if (file.left_out.empty()) continue;
      say(fmt::format("{}: not in the file: {}", place.string() + file.suffix,
                      fmt::join(file.left_out, "; ")));
    }
  }
  return rows.size();
}

constexpr const char* all_rules = "rules";
constexpr const char* all_stacks = "stacks";

struct Options : Arguments {
  TrainingFlags training{{line}, line.input().optional("MODEL", "a model's file")};
  Text from =
      line.input().option("--from", "instead: the cheapest changes of what runs today", "SCENARIO");
  Heading layouts = line.group("Layouts");
  Text framework = line.choice("--for", framework_names(), "only layouts that a framework runs");
  Texts only = line.list("--only", "only layouts with these values", "/POINTER=VALUE,…",
                         suggested_layout_values);
  Texts settings = line.settings("change every scenario");
  Text partitions =
      line.option("--partitions", "partitioners, default even,balanced,simulated", "NAMES");
  Text headroom =
      line.option("--headroom", "share of the memory to leave free, default 0.08", "SHARE");
  Flag lossy = line.flag("--lossy", "codecs too: 8 bits for links and kept activations");
  Flag offload = line.flag("--offload", "offloading too, where memory is short");
  Heading answers = line.group("Answers");
  Number best = line.number("--best", "families of layouts to list, default 10");
  Text budget = line.option("--budget", "seconds to search on each core, default 30", "SECONDS");
  Texts whys = line.list("--why", "rules, stacks, or /POINTER=VALUE,…: why that lost", "WHAT",
                         suggested_layout_values);
  Text machines =
      line.option("--compare-hardware", "the best layout on these machines too", "NAMES");
  Text counts =
      line.option("--compare-devices", "the best layout on other numbers of devices", "NUMBERS");
  Texts changes =
      line.list("--change", "how the best layout moves", "/POINTER=…", suggested_changes);
  CostFlags costs{{line}};
  Flag json = line.json("print the layouts as JSON");
  Text folder = line.folder("-o,--output", "write a scenario for each into a folder");
  const Existing& replaced = line.replaces();
  Number jobs = line.number("-j,--jobs", "threads, default one per core");
  Text svg = line.option("--svg", "draw memory over step time as SVG", "FILE");
  Text png = line.option("--png", "draw it as PNG", "FILE");
};

/// A number of an option, or its default.
double number_of(const char* option, const std::string& text, double least, double most,
                 double usual) {
  if (text.empty()) return usual;
  const auto value = plain_number(text);
  if (value && *value >= least && *value <= most) return *value;
  throw UsageError(fmt::format("{} {}: it must be from {} to {}", option, text, least, most));
}

/// Words separated by commas.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  const std::string list = text + ",";
  for (std::string_view rest = list; !text.empty() && !rest.empty();) {
    words.emplace_back(trimmed(take_until(rest, ',')));
  }
  return words;
}

TrainingRequest request_of(const Options& options) {
  const TrainingFlags& training = options.training;
  const char* const missing = training.model.empty()      ? "MODEL"
                              : training.hardware.empty() ? "--hardware"
                              : !training.devices         ? "--devices"
                                                          : nullptr;
  if (missing != nullptr) {
    throw UsageError(fmt::format(
        "{} is missing; give MODEL, --hardware and --devices, or --from SCENARIO", missing));
  }
  TrainingRequest request = request_of(training);
  request.settings = options.settings;
  request.writer = "penstock layout";
  request.training = training_of(options.costs);
  return request;
}

std::size_t best_of(const Options& options) {
  return options.best ? within("--best", options.best, most_listed) : 10;
}

std::size_t jobs_of(const Options& options) {
  return options.jobs ? within("--jobs", options.jobs, most_jobs) : SIZE_MAX;
}

/// "best 13.95 s, at least 13.70 s".
std::string progress_text(const PlanProgress& now) {
  std::string text = counted(now.simulated, "simulated layout");
  if (now.best_us) {
    text += fmt::format(", best {:.4g} s, the others at least {:.4g} s", *now.best_us * 1e-6,
                        now.bound_us * 1e-6);
  }
  return text;
}

PlannerOptions planner_options(const Options& options, ProgressBar& progress,
                               const InterruptRequest& interrupt) {
  PlannerOptions planner{.space = space_options({.only = options.only,
                                                 .lossy = options.lossy,
                                                 .offloads = options.offload,
                                                 .partitions = words_of(options.partitions)},
                                                framework_of(options.framework)),
                         .best = best_of(options),
                         .headroom = number_of("--headroom", options.headroom, 0, 0.9, 0.08),
                         .jobs = jobs_of(options),
                         .most_seconds = number_of("--budget", options.budget, 0.1, 1e6, 30),
                         .asked_to_end = [&] { return interrupt.asked(); }};
  if (const auto show = progress.text_callback()) {
    planner.on_progress = [show](const PlanProgress& now) {
      const double share = now.best_us ? std::min(1.0, now.bound_us / *now.best_us) : 0;
      show(share, progress_text(now));
    };
  }
  return planner;
}

TrainingTask task_of(const Options& options, const TrainingRequest& request,
                     const Catalogue& catalogue) {
  TrainingTask task = read_training_task(request, catalogue);
  set_framework(framework_of(options.framework), catalogue, task);
  return task;
}

/// Of all changes, so that a mistake shows before anything is simulated.
std::vector<TrainingTask> changed_tasks(const Options& options, const Catalogue& catalogue) {
  std::vector<TrainingTask> tasks;
  for (const std::string& change : options.changes) {
    TrainingRequest request = request_of(options);
    request.changes = {change};
    tasks.push_back(task_of(options, request, catalogue));
  }
  return tasks;
}

/// Of each --why with a pointer; the same.
std::vector<Restrictions> asked_whys(const Options& options) {
  std::vector<Restrictions> whys;
  for (const std::string& why : options.whys) {
    if (why == all_rules || why == all_stacks) continue;
    if (!why.starts_with('/')) {
      throw UsageError(
          fmt::format("--why {}: expected {}, {} or /POINTER=VALUES", why, all_rules, all_stacks));
    }
    whys.push_back(Restrictions({why}, "--why"));
  }
  return whys;
}

/// Tasks on the other machines and numbers of devices that are compared; the same.
std::vector<TrainingTask> compared_tasks(const Options& options, const Catalogue& catalogue) {
  std::vector<std::string> machines = words_of(options.machines);
  if (std::ranges::find(machines, options.training.hardware) == machines.end()) {
    machines.insert(machines.begin(), options.training.hardware);
  }
  std::vector<std::uint32_t> counts{*options.training.devices};
  for (const std::string& count : words_of(options.counts)) {
    counts.push_back(
        static_cast<std::uint32_t>(number_of("--compare-devices", count, 1, Limits::ranks, 1)));
  }
  std::vector<TrainingTask> tasks;
  for (const std::string& machine : machines) {
    for (const std::uint32_t count : counts) {
      TrainingRequest request = request_of(options);
      request.hardware = machine;
      request.hardware_option = "--compare-hardware";
      request.devices = count;
      tasks.push_back(task_of(options, request, catalogue));
    }
  }
  return tasks;
}

/// What the command line asks, read so that a mistake shows before anything is simulated.
struct Questions {
  TrainingTask task;
  std::vector<Restrictions> whys;
  std::vector<TrainingTask> changed, compared;
};

Questions questions_of(const Options& options, const Catalogue& catalogue) {
  Questions questions{.task = task_of(options, request_of(options), catalogue),
                      .whys = asked_whys(options),
                      .changed = changed_tasks(options, catalogue)};
  if (!options.machines.empty() || !options.counts.empty()) {
    questions.compared = compared_tasks(options, catalogue);
  }
  return questions;
}

bool asks(const Options& options, const char* what) {
  return std::ranges::find(options.whys, what) != options.whys.end();
}

/// What was asked besides the plan, as text.
std::string answers(const Options& options, const Catalogue& catalogue, const LayoutPlan& plan,
                    const Questions& asked, const PlannerOptions& planner) {
  std::string text = asks(options, all_rules) ? rules_text(plan) : "";
  if (asks(options, all_stacks)) text += stacks_text(plan, catalogue, planner);
  for (const Restrictions& why : asked.whys) text += why_text(plan, catalogue, planner, why);
  for (std::size_t i = 0; i < asked.changed.size(); ++i) {
    text += change_text(plan, best_plan(asked.changed[i], catalogue, planner), options.changes[i]);
  }
  return text;
}

/// The same as JSON; rules are part of the plan's.
void add_answers(const Options& options, const Catalogue& catalogue, const LayoutPlan& plan,
                 const Questions& asked, const PlannerOptions& planner, ordered_json& json) {
  if (asks(options, all_stacks)) json["stacks"] = stacks_json(plan, catalogue, planner);
  for (const Restrictions& why : asked.whys) {
    json["why"].push_back(why_json(plan, catalogue, planner, why));
  }
  for (std::size_t i = 0; i < asked.changed.size(); ++i) {
    const LayoutPlan changed = best_plan(asked.changed[i], catalogue, planner);
    json["changes"].push_back(change_json(plan, changed, options.changes[i]));
  }
}

void write_outputs(const Options& options, const Catalogue& catalogue, const LayoutPlan& plan,
                   const PlannerOptions& planner) {
  OutputSet outputs(options.replaced);
  if (!options.svg.empty() || !options.png.empty()) {
    const FrontPlot plot = plan_plot(plan, plain_plan(plan, catalogue, planner));
    if (!options.svg.empty()) outputs.write(options.svg, draw_front_plot(PictureFormat::svg, plot));
    if (!options.png.empty()) outputs.write(options.png, draw_front_plot(PictureFormat::png, plot));
  }
  std::size_t written = 0;
  if (!options.folder.empty()) {
    written = write_layouts(plan, planner.best, options.folder, outputs);
  }
  outputs.publish();
  if (!options.folder.empty()) say_what_is_older(options.folder, "layout", written);
}

/// Throws UsageError for options that choose among all layouts, or state what the scenario states.
void check_from(const Options& options) {
  const TrainingFlags& training = options.training;
  const std::array<std::pair<const char*, bool>, 17> given{
      {{"MODEL", !training.model.empty()},
       {"--hardware", !training.hardware.empty()},
       {"--devices", training.devices.has_value()},
       {"--sequence", training.sequence.has_value()},
       {"--microbatch", training.microbatch.has_value()},
       {"--global-batch", training.global_batch.has_value()},
       {"--for", !options.framework.empty()},
       {"--only", !options.only.empty()},
       {"--partitions", !options.partitions.empty()},
       {"--why", !options.whys.empty()},
       {"--change", !options.changes.empty()},
       {"--headroom", !options.headroom.empty()},
       {"--budget", !options.budget.empty()},
       {"--compare-hardware", !options.machines.empty()},
       {"--compare-devices", !options.counts.empty()},
       {"--svg", !options.svg.empty()},
       {"--png", !options.png.empty()}}};
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    throw UsageError(
        fmt::format("{} does not go with --from, whose scenario states model, "
                    "hardware and layout; --set changes it first",
                    name));
  }
}

/// Writes the changed scenarios as change_1.json, change_2.json … into a folder.
void write_changes(const Options& options, const Scenario& scenario, const ChangePlan& plan) {
  if (options.folder.empty()) return;
  OutputSet outputs(options.replaced);
  outputs.make_folder(options.folder);
  std::size_t number = 0;
  for (const ChangeList* list : {&plan.one, &plan.two}) {
    for (const TriedChange& change : cheapest(*list, best_of(options))) {
      outputs.write(scenario_in(options.folder, "change", ++number),
                    changed_document(scenario, change, options.folder));
    }
  }
  outputs.publish();
  say_what_is_older(options.folder, "change", number);
}

int change_and_report(const Options& options) {
  check_from(options);
  const std::size_t best = best_of(options);
  check_folder(options.folder, "change", 2 * best, options.replaced);
  const Scenario scenario = read_scenario(options.from, options.settings);
  ProgressBar progress;
  const ChangePlanOptions asked{.kinds = {.offloads = options.offload, .codecs = options.lossy},
                                .jobs = jobs_of(options),
                                .on_progress = progress.callback()};
  const RunResult result = run(scenario, {.training = training_of(options.costs)});
  if (!result.report) {  // a deadlock
    show(options.json ? printed(result_json(result)) : result_table(result));
    return ExitCode::finding;
  }
  const ChangePlan plan = plan_changes(scenario, result, asked);
  progress.erase();
  show(options.json ? printed(change_plan_json(scenario, result, plan))
                    : change_plan_text(scenario, result, plan, best));
  write_changes(options, scenario, plan);
  return plan.any_fits() ? ExitCode::done : ExitCode::finding;
}

int plan_and_report(const Options& options) {
  if (!options.from.empty()) return change_and_report(options);
  check_outputs({options.svg, options.png, json_output(options.json)}, {options.training.model},
                options.replaced);
  check_folder(options.folder, "layout", best_of(options), options.replaced);
  request_of(options);
  read_file(options.training.model);  // errors of the file itself come before those of layouts
  refuse_axes("--set", options.settings);
  refuse_axes("--change", options.changes);
  const Catalogue catalogue = read_catalogue();
  ProgressBar progress;
  const InterruptRequest interrupt;
  const PlannerOptions planner = planner_options(options, progress, interrupt);
  const Questions asked = questions_of(options, catalogue);
  const LayoutPlan plan = plan_layouts(asked.task, catalogue, planner);
  const std::optional<FrameworkGain> gain = framework_gain(plan, catalogue, planner);
  ordered_json json;
  std::string text;
  if (options.json) {
    json = plan_json(plan, planner.best);
    if (plan.task.framework != nullptr) json["framework"] = gain_json(plan, gain);
    add_answers(options, catalogue, plan, asked, planner, json);
  } else {
    text = plan_text(plan, planner.best) + gain_text(plan, gain) +
           answers(options, catalogue, plan, asked, planner);
  }
  std::vector<std::vector<LayoutPlan>> compared;
  if (!asked.compared.empty()) compared = comparisons(asked.compared, catalogue, planner);
  progress.erase();
  for (const auto& plans : compared) {
    if (options.json) {
      json["compared"].push_back(machines_json(plans));
    } else {
      text += machines_text(plans);
    }
  }
  show(options.json ? printed(json) : text);
  write_outputs(options, catalogue, plan, planner);
  if (interrupt.asked()) {
    return ended_on_request(plan.fitting.empty() ? "" : "; these are the best layouts so far");
  }
  return plan.fitting.empty() ? ExitCode::finding : ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry layout_entry{
    .name = "layout",
    .summary = "find the best layout of a model on a machine by simulation",
    .group = CommandGroup::plan,
    .on_first_screen = true,
    .example = "penstock layout llama-3.1-8b.json --hardware dgx-h100 --devices 64 -o layouts",
    .declare = command<Options, plan_and_report>,
};

}  // namespace penstock::layout_file
