#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/recordings.hpp"
#include "schedules/registry.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock::trace_file {
namespace {

struct Options : Arguments {
  Texts all_files = line.input().required_list(
      "FILE",
      "traces of PyTorch's profiler, one a rank, or SQLite exports of Nsight "
      "Systems, a process a rank; a folder a run");
  Flag preview = line.flag("--preview", "only list which names are ops and which are not");
  Texts patterns = line.list(
      "--pattern", "how names of annotations read, such as \"mb{microbatch} {pass} s{stage}\"",
      "TEXT");
  Text schedule = line.option(
      "--schedule", "the order that ran: a schedule, or a .csv file of PyTorch's notation", "NAME",
      suggested_schedules);
  Number microbatches = line.number("--microbatches", "with --schedule: of one iteration");
  Number chunks = line.number("--chunks", "with --schedule: stages a rank");
  Flag gaps = line.flag("--gaps", "identify ops by messages, even where annotations match");
  Text pipeline_ranks =
      line.option("--pipeline-ranks",
                  "the job's ranks that form the pipeline, from the first stage on; of data "
                  "replicas, lists with ; between them",
                  "\"0,8,16\"");
  Number step = line.number("--step", "the step for order and timeline; else the last whole one");
  Number samples = line.number("--samples", "for the profile: of a microbatch, default 1");
  Flag causes = line.flag("--causes", "report what each cause cost the step, with intervals");
  Text timeline = line.option("--timeline", "write the step as a timeline", "FILE");
  Text profile = line.option("--profile", "write medians by stage as a profile", "FILE");
  Text scenario = line.option("--scenario", "write a scenario that simulates it", "FILE");
  Text order = line.option("--write-order", "write the order as PyTorch CSV", "FILE");
  const Existing& replaced = line.replaces();
  Flag json = line.json("print the result as JSON");
  std::vector<std::string> files = {};  // of one run

  /// How many replicas --pipeline-ranks lists.
  std::uint32_t replicas() const {
    return 1 + static_cast<std::uint32_t>(std::ranges::count(pipeline_ranks, ';'));
  }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(files.size()) / replicas(); }
};

// ---- input ----

std::vector<OpPattern> patterns_of(const Options& options) {
  std::vector<OpPattern> patterns;
  for (const std::string& text : options.patterns) patterns.emplace_back(text);
  if (!patterns.empty()) return patterns;
  for (const KnownPattern& known : known_patterns()) patterns.emplace_back(known.text);
  return patterns;
}

/// The job's ranks that form the pipeline, of one replica after the other.
struct PipelineRanks {
  std::vector<std::uint32_t> ranks;
  std::uint32_t replicas = 1;
};

/// "0,8,16", or of two replicas "0,8,16;1,9,17": one rank per file, each once.
PipelineRanks pipeline_ranks_of(const Options& options) {
  PipelineRanks all;
  if (options.pipeline_ranks.empty()) return all;
  const auto refuse = [&] {
    throw UsageError(
        fmt::format("--pipeline-ranks \"{}\": expected a list like \"0,8,16\": a rank of "
                    "the job for each of the {} files, from the first stage on; of replicas, lists "
                    "of equal length with ; between them",
                    options.pipeline_ranks, options.files.size()));
  };
  all.replicas = 0;
  const std::string lists = options.pipeline_ranks + ";";
  for (std::string_view rest = lists; !rest.empty();) {
    const std::string list = std::string(take_until(rest, ';')) + ",";
    for (std::string_view own = list; !own.empty();) {
      const auto rank = whole_number<std::uint32_t>(take_until(own, ','));
      if (!rank || std::ranges::find(all.ranks, *rank) != all.ranks.end()) refuse();
      all.ranks.push_back(*rank);
    }
    ++all.replicas;
    if (all.ranks.size() * options.replicas() != options.files.size() * all.replicas) {
      refuse();
    }
  }
  return all;
}

NamedOrder order_by_rule(const Options& options, const ScheduleEntry& entry) {
  const std::uint32_t ranks = options.ranks();
  ScheduleOptions how;
  how.microbatch_count = within("--microbatches", options.microbatches, Limits::microbatches);
  try {
    const std::uint32_t chunks = within(
        "--chunks", options.chunks.value_or(usual_chunks(entry, how)), Limits::stages / ranks);
    Placement placement = place_stages(entry, ranks, chunks, how, ": give --chunks ");
    Schedule schedule = make_schedule(entry, placement, how);
    return {std::string(entry.name), std::move(placement), std::move(schedule)};
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("--schedule {}: {}", entry.name, error.what()));
  }
}

NamedOrder order_from_file(const Options& options) {
  return about_file(options.schedule, [&] {
    OrderFile order = read_torch_csv(read_file(options.schedule));
    if (order.schedule.ranks() != options.ranks()) {
      throw InputError(fmt::format("it has {}, a row a rank, for {}",
                                   counted(order.schedule.ranks(), "row"),
                                   counted(options.ranks(), "trace")));
    }
    Placement placement = placement_of(order, {});
    require_sound_comms(order, placement, Communicating::implicit);
    return NamedOrder{options.schedule, std::move(placement), std::move(order.schedule)};
  });
}

std::optional<NamedOrder> named_order(const Options& options) {
  if (options.schedule.empty()) {
    if (options.microbatches || options.chunks) {
      throw UsageError("--microbatches and --chunks go with --schedule");
    }
    return std::nullopt;
  }
  const ScheduleEntry* const entry = find_named(schedule_entries(), options.schedule);
  if (entry != nullptr) return order_by_rule(options, *entry);
  if (options.schedule.ends_with(".csv")) return order_from_file(options);
  throw UsageError(unknown_text(fmt::format("schedule \"{}\"", options.schedule),
                                meant_schedule(options.schedule), names_of(schedule_entries())) +
                   ", or a file that ends in .csv");
}

TraceReading reading_of(const Options& options) {
  if (options.files.size() > Limits::ranks) throw UsageError("there are too many files");
  if (options.gaps && options.schedule.empty()) {
    throw UsageError(
        "--gaps needs --schedule: between messages, ops are told by their order alone");
  }
  PipelineRanks pipelines = pipeline_ranks_of(options);
  return {.files = options.files,
          .pipeline_ranks = std::move(pipelines.ranks),
          .replicas = pipelines.replicas,
          .patterns = patterns_of(options),
          .order = options.preview ? std::nullopt : named_order(options),
          .by_gaps = options.gaps};
}

// ---- output ----

/// The path of a file as seen from the folder of another.
std::string seen_from(const std::string& file, const std::string& other) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(other).parent_path();
  return fs::absolute(file)
      .lexically_normal()
      .lexically_proximate(folder.lexically_normal())
      .string();
}

void check_files(const Options& options, const std::vector<std::string>& inputs) {
  const std::vector<std::string> outputs{options.timeline, options.profile, options.scenario,
                                         options.order};
  std::vector<std::string> all_outputs = outputs;
  all_outputs.push_back(json_output(options.json));
  check_outputs(all_outputs, inputs, options.replaced);
  const bool writes = std::any_of(outputs.begin(), outputs.end(),
                                  [](const std::string& path) { return !path.empty(); });
  if (options.preview && options.causes) throw UsageError("--preview times no ops for --causes");
  if (options.preview && writes) throw UsageError("--preview writes no files");
  if (!options.scenario.empty() && options.profile.empty()) {
    throw UsageError("--scenario needs --profile, the file that its model is read from");
  }
  if (options.scenario == "-" || (!options.scenario.empty() && options.profile == "-")) {
    throw UsageError("a scenario and its profile must be files: one names the other");
  }
}

using FileLists = std::vector<std::vector<std::string>>;

/// The files of each run. If several folders hold several files each, as many in all of them, each
/// folder is a run of its own.
FileLists runs_of(const std::vector<std::string>& files) {
  FileLists runs;
  std::vector<std::filesystem::path> folders;
  for (const std::string& file : files) {
    const auto folder = std::filesystem::path(file).parent_path();
    const auto known = std::ranges::find(folders, folder);
    if (known == folders.end()) {
      folders.push_back(folder);
      runs.push_back({file});
    } else {
      runs[static_cast<std::size_t>(known - folders.begin())].push_back(file);
    }
  }
  const bool alike = std::ranges::all_of(
      runs, [&](const auto& run) { return run.size() > 1 && run.size() == runs.front().size(); });
  return alike ? runs : FileLists{files};
}

/// The scenario's references to the written files, if a scenario is requested.
ScenarioParts scenario_parts(const Options& options, const MeasuredRun& run) {
  if (options.scenario.empty()) return {};
  ScenarioParts parts{.profile = seen_from(options.profile, options.scenario), .order = ""};
  const ScheduleEntry* const entry =
      run.schedule ? find_named(schedule_entries(), *run.schedule) : nullptr;
  if (entry != nullptr) {
    if (entry->default_chunks != run.chunks) parts.chunks = run.chunks;
    return parts;
  }
  if (options.order.empty() || options.order == "-") {
    throw UsageError(
        "--scenario: the order is that of no schedule; --write-order FILE.csv writes it");
  }
  parts.order = seen_from(options.order, options.scenario);
  return parts;
}

bool prints(const Options& options) {
  return options.timeline != "-" && options.profile != "-" && options.order != "-";
}

/// What is written and explained of a run: the step, and the others of its order.
struct ShownRun {
  std::string title;
  Plan plan;
  Timeline timeline;
  std::vector<Timeline> iterations;

  StepCauses causes() const { return causes_of(plan, timeline, nullptr, iterations); }
};

/// Runs one by one, or replicas as one run.
std::vector<ShownRun> shown_runs(const Options& options, const std::vector<MeasuredRun>& runs) {
  if (options.replicas() > 1) {
    JoinedReplicas joined = join_replicas(runs);
    return {{std::move(joined.title), std::move(joined.plan), std::move(joined.timeline),
             std::move(joined.iterations)}};
  }
  std::vector<ShownRun> all;
  for (const MeasuredRun& run : runs) {
    all.push_back({run.title, run.job.priced.plan, run.timeline, run.measured.iterations});
  }
  return all;
}

void write_outputs(const Options& options, const std::vector<MeasuredRun>& runs,
                   const ShownRun& shown, const MergedTimes& merged) {
  const MeasuredRun& run = runs.front();
  const double examples = options.samples.value_or(1);
  const ScenarioParts parts = scenario_parts(options, run);
  OutputSet outputs(options.replaced);
  const auto write = [&](const std::string& path, const std::string& content) {
    if (!path.empty()) outputs.write(path, content);
  };
  write(options.timeline, recording_text(shown.plan, shown.timeline, shown.title));
  write(options.profile, profile_text(runs, merged, examples));
  write(options.order, write_torch_csv(run.order.schedule).text);
  if (!options.scenario.empty()) {
    outputs.write(options.scenario, scenario_text(run, merged, parts, examples));
  }
  outputs.publish();
}

/// The ranks of the job, by those of the run, which are numbered replica by replica. Empty where
/// traces do not say.
std::vector<std::uint32_t> job_ranks_of(const std::vector<MeasuredRun>& replicas) {
  std::vector<std::uint32_t> all;
  for (const MeasuredRun& replica : replicas) {
    for (const TracedRank& rank : replica.ranks) {
      if (!rank.job_rank) return {};
      all.push_back(*rank.job_rank);
    }
  }
  return all;
}

void print_json(const Options& options, const std::vector<MeasuredRun>& replicas,
                const ShownRun& shown) {
  nlohmann::ordered_json all = measured_run_json(replicas.front());
  if (options.replicas() > 1) {
    all["replicas"] = options.replicas();
    all["job_ranks"] = job_ranks_of(replicas);
  }
  if (options.causes) all["causes"] = causes_json(shown.plan, shown.causes());
  show(printed(all));
}

/// Of replicas the first, and the causes of all.
void print_runs(const Options& options, const std::vector<MeasuredRun>& runs,
                const std::vector<ShownRun>& shown, const MergedTimes& merged) {
  if (options.json) return print_json(options, runs, shown.front());
  const bool numbers_differ = shown.size() == 1 && !options.pipeline_ranks.empty();
  const std::vector<std::uint32_t> job_ranks =
      numbers_differ ? job_ranks_of(runs) : std::vector<std::uint32_t>{};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    show(fmt::format("{}{}", i == 0 ? "" : "\n", measured_run_text(runs[i])));
    if (!options.causes) continue;
    if (!job_ranks.empty()) {
      show(fmt::format("\nranks 0 to {} of the step are ranks {} of the job\n",
                       job_ranks.size() - 1, fmt::join(job_ranks, ", ")));
    }
    show("\n" + causes_text(shown[i].plan, shown[i].causes()));
  }
  show(merged_text(merged));
}

/// The ranks of each replica.
std::vector<std::vector<TracedRank>> pipelines_of(std::vector<TracedRank> ranks,
                                                  std::uint32_t replicas) {
  std::vector<std::vector<TracedRank>> all(replicas);
  const std::size_t pipeline = ranks.size() / replicas;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    all[rank / pipeline].push_back(std::move(ranks[rank]));
  }
  return all;
}

/// The report is that of the first replica, with the clocks of all.
void note_clocks(std::vector<MeasuredRun>& replicas) {
  for (std::size_t i = 1; i < replicas.size(); ++i) {
    if (replicas[i].unaligned.empty()) continue;
    replicas.front().notes.push_back(fmt::format("replica {}: {}", i, replicas[i].unaligned));
  }
}

int read_traces(const Options& options) {
  const std::vector<std::string> inputs = trace_files(options.all_files);
  check_files(options, inputs);
  if (options.samples) within("--samples", options.samples, 1'000'000'000);
  const bool one_run = options.preview || options.replicas() > 1;
  const auto files = one_run ? FileLists{inputs} : runs_of(inputs);
  if (files.size() > 1 && options.json) {
    throw UsageError("--json goes with the traces of one run");
  }
  std::vector<MeasuredRun> runs;
  for (const std::vector<std::string>& of_run : files) {
    Options one = options;
    for (const std::string& file : of_run) {
      for (std::string& trace : traces_in(file)) one.files.push_back(std::move(trace));
    }
    const TraceReading reading = reading_of(one);
    std::vector<std::string> notes;
    std::vector<TracedRank> ranks = read_rank_traces(reading, !options.preview, notes);
    for (const std::string& note : notes) say(note);
    if (options.preview) {
      show(options.json ? printed(preview_json(ranks, reading.patterns))
                        : preview_text(ranks, reading.patterns));
      return ExitCode::done;
    }
    for (std::vector<TracedRank>& pipeline : pipelines_of(std::move(ranks), reading.replicas)) {
      runs.push_back(measured_run(std::move(pipeline), reading.order, options.step));
    }
  }
  if (options.replicas() > 1) note_clocks(runs);
  const std::vector<ShownRun> shown = shown_runs(options, runs);
  const MergedTimes merged = merged_times(runs);
  write_outputs(options, runs, shown.front(), merged);
  if (prints(options)) print_runs(options, runs, shown, merged);
  const bool as_named =
      std::ranges::all_of(runs, [](const MeasuredRun& run) { return run.as_named; });
  return as_named ? ExitCode::done : ExitCode::finding;
}

}  // namespace

constinit extern const CommandEntry trace_entry{
    .name = "trace",
    .summary = "read traces of the PyTorch profiler or Nsight Systems",
    .group = CommandGroup::files,
    .example = "penstock trace rank*.json.gz --profile run.profile.json --scenario run.json",
    .declare = command<Options, read_traces>,
};

}  // namespace penstock::trace_file
