#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/framework_gain.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/layout/launch_of.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/pictures/plots/front_plot.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"

namespace penstock::layout_file {
namespace {

/// Writes the scenario of each of the best layouts as layout_1.json, layout_2.json … into a folder,
/// which is made if it is missing, and what starts it with a framework. Paths in the scenarios are
/// relative to it. Throws UsageError for a folder that cannot be made or written.
void write_layouts(const LayoutPlan& plan, std::size_t best, const std::string& folder,
                   OutputSet& outputs) {
  outputs.make_folder(folder);
  TrainingTask task = plan.task;
  task.model = path_seen_from(folder, task.model);
  for (std::size_t i = 0; i < std::min(best, plan.fitting.size()); ++i) {
    const auto path = std::filesystem::path(folder) / fmt::format("layout_{}", i + 1);
    const std::string text = layout_document(task, plan.fitting[i].choice);
    outputs.write(path.string() + ".json", text);
    if (task.framework == nullptr) continue;
    for (const LaunchFile& file :
         launch_files_beside(path.string() + ".json", text, task.framework->format)) {
      outputs.write(path.string() + file.suffix, file.text);
    }
  }
}

/// A picture of the simulated layouts that fit: memory over step time, with their front.
std::string draw_plan(PictureFormat format, const LayoutPlan& plan) {
  FrontPlot plot{.title = fmt::format("Layouts of {} on {} of {}",
                                      std::filesystem::path(plan.task.model).filename().string(),
                                      counted(plan.task.devices, "device"), plan.task.hardware)};
  const std::vector<bool> front = pareto_front(plan.fitting);
  for (std::size_t i = 0; i < plan.fitting.size(); ++i) {
    const Trial& trial = plan.fitting[i].trial;
    plot.points.push_back({to_us(trial.makespan) * 1e-6,
                           static_cast<double>(trial.peak_bytes) / 1073741824.0, front[i]});
  }
  return draw_front_plot(format, plot);
}

constexpr const char* all_rules = "rules";

struct Options : Arguments {
  TrainingFlags training{{line}, line.required("MODEL", "a model's file")};
  Heading layouts = line.group("Layouts");
  Text framework = line.choice("--for", framework_names(), "only layouts that a framework runs");
  Texts only = line.list("--only", "only layouts with these values", "/POINTER=VALUE,…");
  Texts settings = line.settings("change every scenario");
  Text partitions = line.option("--partitions", "partitioners to try, default even", "NAMES");
  Flag lossy = line.flag("--lossy", "codecs too: 8 bits for links and kept activations");
  Flag offload = line.flag("--offload", "offloading to host memory too, where memory is short");
  Heading answers = line.group("Answers");
  Number best = line.number("--best", "layouts to list, default 10");
  Texts whys = line.list(
      "--why", "rules: what excluded the others; /POINTER=VALUE,…: why that lost", "WHAT");
  Texts changes = line.list("--change", "how the best layout moves", "/POINTER=VALUE,…");
  Text uncertainty =
      line.option("--uncertainty", "of step times, for ties; default: as run reports", "SHARE");
  Flag json = line.json("print the layouts as JSON");
  Text folder = line.option("-o,--output", "write a scenario for each into a folder", "FOLDER");
  const Existing& replaced = line.replaces();
  Number jobs = line.number("-j,--jobs", "threads, default one per core");
  Text svg = line.option("--svg", "draw memory over step time as SVG", "FILE");
  Text png = line.option("--png", "draw it as PNG", "FILE");
};

std::optional<double> share_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto value = plain_number(text);
  if (value && *value >= 0 && *value < 1) return value;
  throw UsageError(
      fmt::format("--uncertainty {}: it must be from 0 to below 1, such as 0.03", text));
}

TrainingRequest request_of(const Options& options) {
  const TrainingFlags& training = options.training;
  if (training.hardware.empty() || !training.devices) {
    throw UsageError(fmt::format("{} is missing; give MODEL, --hardware and --devices",
                                 training.hardware.empty() ? "--hardware" : "--devices"));
  }
  TrainingRequest request = request_of(training);
  request.settings = options.settings;
  request.writer = "penstock layout";
  return request;
}

/// Names of partitioners, separated by commas.
std::vector<std::string> partitions_of(const std::string& names) {
  std::vector<std::string> partitions;
  const std::string list = names + ",";
  for (std::string_view rest = list; !rest.empty();) {
    const auto& name = partitions.emplace_back(trimmed(take_until(rest, ',')));
    if (find_named(partitioner_entries(), name) != nullptr) continue;
    throw UsageError(fmt::format("--partitions {}: {}", names,
                                 unknown_text(fmt::format("partitioner \"{}\"", name), name,
                                              names_of(partitioner_entries()))));
  }
  return partitions;
}

PlannerOptions planner_options(const Options& options, ProgressBar& progress) {
  PlannerOptions planner{.space = {.only = Restrictions(options.only),
                                   .lossy = options.lossy,
                                   .offloads = options.offload},
                         .best = options.best ? within("--best", options.best, 10'000) : 10,
                         .jobs = options.jobs ? within("--jobs", options.jobs, 1024) : SIZE_MAX,
                         .on_progress = progress.callback()};
  const Framework* framework = framework_of(options.framework);
  if (framework != nullptr) planner.space.partitions = split_names(framework->cuts);
  if (!options.partitions.empty()) planner.space.partitions = partitions_of(options.partitions);
  if (framework != nullptr) refuse_codecs(*framework, planner.space);
  return planner;
}

TrainingTask task_of(const Options& options, const TrainingRequest& request,
                     const Catalogue& catalogue) {
  TrainingTask task = read_training_task(request, catalogue);
  set_framework(framework_of(options.framework), task);
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

/// Of each --why but for rules; the same.
std::vector<Restrictions> asked_whys(const Options& options) {
  std::vector<Restrictions> whys;
  for (const std::string& why : options.whys) {
    if (why == all_rules) continue;
    if (!why.starts_with('/')) {
      throw UsageError(fmt::format("--why {}: expected {} or /POINTER=VALUES", why, all_rules));
    }
    whys.push_back(Restrictions({why}, "--why"));
  }
  return whys;
}

/// What was asked besides the plan, as text.
std::string answers(const Options& options, const Catalogue& catalogue, const LayoutPlan& plan,
                    const std::vector<Restrictions>& whys, const std::vector<TrainingTask>& changed,
                    const PlannerOptions& planner) {
  std::string text;
  for (const Restrictions& why : whys) {
    PlannerOptions restricted = planner;
    restricted.best = 1;
    restricted.space.only = planner.space.only.with(why);
    text += why_text(plan, plan_layouts(plan.task, catalogue, restricted), why.text());
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    text += change_text(plan, plan_layouts(changed[i], catalogue, planner), options.changes[i]);
  }
  return text;
}

ordered_json all_json(const LayoutPlan& plan, std::size_t best, const StepInterval& known,
                      const std::optional<FrameworkGain>& gain) {
  ordered_json all = plan_json(plan, best, known);
  all["framework"] = gain_json(plan, gain);
  return all;
}

void write_outputs(const Options& options, const LayoutPlan& plan, std::size_t best) {
  OutputSet outputs(options.replaced);
  if (!options.svg.empty()) outputs.write(options.svg, draw_plan(PictureFormat::svg, plan));
  if (!options.png.empty()) outputs.write(options.png, draw_plan(PictureFormat::png, plan));
  if (!options.folder.empty()) write_layouts(plan, best, options.folder, outputs);
  outputs.publish();
}

int plan_and_report(const Options& options) {
  check_outputs({options.svg, options.png}, {options.training.model}, options.replaced);
  read_file(options.training.model);  // errors of the file itself come before those of layouts
  refuse_axes("--set", options.settings);
  refuse_axes("--change", options.changes);
  const std::optional<double> uncertainty = share_of(options.uncertainty);
  const Catalogue catalogue = read_catalogue();
  ProgressBar progress;
  const PlannerOptions planner = planner_options(options, progress);
  const TrainingTask task = task_of(options, request_of(options), catalogue);
  const std::vector<Restrictions> whys = asked_whys(options);
  const std::vector<TrainingTask> changed = changed_tasks(options, catalogue);
  const LayoutPlan plan = plan_layouts(task, catalogue, planner);
  const std::optional<FrameworkGain> gain = framework_gain(plan, catalogue, planner);
  const std::string more =
      gain_text(plan, gain) + answers(options, catalogue, plan, whys, changed, planner);
  progress.erase();
  const bool rules = std::ranges::find(options.whys, all_rules) != options.whys.end();
  const StepInterval known = known_to(plan, uncertainty);
  show(options.json ? printed(all_json(plan, planner.best, known, gain))
                    : plan_text(plan, planner.best, known, rules));
  if (!options.json) show(more);
  write_outputs(options, plan, planner.best);
  return plan.fitting.empty() ? ExitCode::finding : ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry layout_entry{
    .name = "layout",
    .summary = "find the best layout of a model on a machine by simulation",
    .group = CommandGroup::plan,
    .on_first_screen = true,
    .example = "penstock layout config.json --hardware dgx-h100 --devices 64 -o layouts",
    .declare = command<Options, plan_and_report>,
};

}  // namespace penstock::layout_file
