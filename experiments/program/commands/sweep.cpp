#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/missing_values.hpp"
#include "experiments/plan/sweeps/result_log.hpp"
#include "experiments/plan/sweeps/run_sweep.hpp"
#include "experiments/plan/sweeps/shard.hpp"
#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/program/cluster/dealing.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::sweep_file {
namespace {

struct Options : Arguments {
  Texts files = line.input().required_list(
      "SWEEP", "a sweep or a scenario; or merge and shards; or export and results");
  Text output =
      line.option("-o,--output", "file of results, JSON Lines; goes on where it ends", "OUT.jsonl");
  Number jobs = line.number("-j,--jobs", "threads, default one per core");
  Text shard = line.option("--shard",
                           "only part I of N; default: from a Slurm job array or Open MPI", "I/N");
  Text plot = line.option("--plot", "draw the bubble: .svg, .png or .pdf", "FILE");
  const Existing& replaced = line.replaces();
  Heading configurations = line.group("Configurations");
  Texts axes = line.list("--vary", "an axis: A,B,C, FROM..TO:STEP or FROM..TO*FACTOR",
                         "/POINTER=VALUES", suggested_axes);
  Texts conditions = line.list("--where", "only those that fulfil it", "/POINTER<=2*/POINTER");
  Texts settings = line.settings("change every scenario");
  Number sample = line.number("--sample", "draw this many points instead of all combinations");
  Text method = line.choice("--method", {"random", "sobol"}, "how to draw; default sobol", "sobol");
  Number seed = line.number("--seed", "of random points, default 1");
  Texts results = line.list("--result", "a further value, out of run --json", "/POINTER");
  bool dealt = false;  // over the processes of an MPI job
};

/// The rows that are there now.
struct Totals : SweepCount {
  std::uint64_t before = 0;          // there at the start
  std::uint64_t without_memory = 0;  // of those, refused for lack of memory
};

SweepArguments arguments_of(const Options& options) {
  SweepArguments arguments{.file = options.files.front(),
                           .settings = options.settings,
                           .axes = options.axes,
                           .conditions = options.conditions,
                           .results = options.results,
                           .sample = {}};
  if (options.sample) {
    arguments.sample = Sample{.method = sample_method_of(options.method),
                              .count = within("--sample", options.sample, most_sampled),
                              .seed = options.seed.value_or(1)};
  }
  return arguments;
}

/// The part that is asked for; nothing for the whole.
std::optional<Shard> shard_in(const Options& options) {
  if (options.dealt) return std::nullopt;
  if (!options.shard.empty()) return shard_of(options.shard);
  const auto found =
      shard_from_environment([](const char* name) -> const char* { return std::getenv(name); });
  if (!found) return std::nullopt;
  say(fmt::format("shard {}/{}, from {}", found->shard.number, found->shard.count, found->from));
  return found->shard;
}

/// Checks before any work. Throws UsageError.
void check_options(const Options& options) {
  if (options.files.size() > 1) {
    throw UsageError(fmt::format(
        "\"{}\" is one file too many; several go with penstock sweep merge", options.files[1]));
  }
  if (options.output.empty() && options.plot.empty()) {
    throw UsageError("-o is missing: the file of results, such as sweep.jsonl; or --plot FILE");
  }
  if (!options.sample && options.seed) throw UsageError("--seed goes with --sample");
  if (!options.plot.empty()) picture_format(options.plot);
  // Rows are added to, not replaced.
  check_outputs({options.output, options.plot}, {options.files.front()}, Existing::any);
  check_replaced(options.plot, options.replaced);
}

SweepCount run_with(const SweepSpace& space, const Options& options, const Shard& shard,
                    std::uint64_t done, const TakeRows& take) {
  MissingValues missing(space.request().results);
  const TakeRows look = [&](std::string_view rows) {
    missing.look_in(rows);
    take(rows);
  };
  const InterruptRequest interrupt;
  ProgressBar bar;
  const OnProgress on_terminal = bar.callback();
  SweepRun run{.shard = shard,
               .done = done,
               .jobs = options.jobs ? within("--jobs", options.jobs, most_jobs) : SIZE_MAX,
               .asked_to_stop = [&] { return interrupt.asked(); },
               .on_progress = on_terminal ? on_terminal : progress_log()};
  SweepCount count =
      options.dealt ? deal_sweep(space, run, look) : run_sweep(space, read_catalogue(), run, look);
  bar.erase();
  const std::string none = missing.text();
  if (done == 0 && shard.count == 1 && !none.empty()) say(none);  // else other rows may have them
  return count;
}

Totals run_into_file(const SweepSpace& space, const Options& options, const Shard& shard) {
  ResultLog log(file_of_shard(options.output, shard), options.replaced);
  const std::uint64_t total = shard.size(space.size());
  const ResumedRows there = log.resume([&](std::uint64_t place) {
    if (place >= total) return std::string();
    const std::uint64_t number = shard.configuration(place);
    return row_head(space, number, space.values(number));
  });
  if (there.repaired) say(fmt::format("{}: removed a torn last line", options.output));
  const TakeRows take = [&](std::string_view rows) { log.append(rows); };
  Totals totals{run_with(space, options, shard, there.rows, take), there.rows,
                there.without_memory};
  totals.rows += there.rows;
  totals.with_result += there.with_result;
  return totals;
}

void draw(const Options& options, const RowTable& table) {
  BubblePlot plot = lines_of_table(table, {});
  plot.title = std::filesystem::path(options.files.front()).stem().string();
  write_file(options.plot, draw_bubble_plot(picture_format(options.plot), plot), options.replaced);
}

std::string totals_text(const Totals& totals, std::uint64_t total, const std::string& where) {
  std::string text = counted(totals.rows, "configuration");
  if (totals.rows < total) text += fmt::format(" of {}", total);
  text += fmt::format(": {} with a result, {} without", totals.with_result,
                      totals.rows - totals.with_result);
  if (totals.before > 0) text += fmt::format("; {} were there", totals.before);
  return text + (where.empty() ? "" : "; " + where);
}

/// Whether a configuration of a whole sweep has a result; a part may well have none of those.
int exit_of(std::uint64_t rows, std::uint64_t with_result) {
  return with_result > 0 || rows == 0 ? ExitCode::done : ExitCode::finding;
}

int run(const Options& options) {
  check_options(options);
  const SweepSpace space = sweep_space_of(arguments_of(options));
  if (options.dealt && !is_dealer()) {
    run_dealt(space, read_catalogue());
    return ExitCode::done;
  }
  const std::optional<Shard> part = shard_in(options);
  const Shard shard = part.value_or(Shard{});
  const bool to_file = !options.output.empty() && options.output != "-";
  std::string rows;
  Totals totals;
  if (to_file) {
    totals = run_into_file(space, options, shard);
  } else {
    totals = {run_with(space, options, shard, 0, [&](std::string_view text) {
      if (options.output == "-") show(text);
      if (!options.plot.empty()) rows += text;
    })};
  }
  const std::string summary = totals_text(totals, shard.size(space.size()),
                                          to_file ? file_of_shard(options.output, shard) : "");
  if (totals.stopped) {
    return ended_on_request(": " + summary +
                            (to_file ? "; the same command goes on from there" : ""));
  }
  if (!options.plot.empty()) {
    draw(options,
         to_file ? read_row_table(file_of_shard(options.output, shard)) : row_table_of(rows));
  }
  options.output == "-" ? say(summary) : show(fmt::format("{}\n", summary));
  if (totals.without_memory > 0) {
    say(fmt::format("not run again: {}, refused for lack of memory before; another -o runs all",
                    counted(totals.without_memory, "configuration")));
  }
  if (!totals.first_without.empty()) {
    say("the first without a result: " + reason_of_row(totals.first_without));
  }
  return part ? ExitCode::done : exit_of(totals.rows, totals.with_result);
}

int merge(const Options& options) {
  const std::vector<std::string> shards(options.files.begin() + 1, options.files.end());
  if (shards.empty() || options.output.empty()) {
    throw UsageError(
        "penstock sweep merge OUT… -o ALL.jsonl: expected the files of all shards, and "
        "-o");
  }
  check_outputs({options.output}, shards, options.replaced);
  const MergedRows merged = merge_rows(shards, options.output, options.replaced);
  if (options.output != "-") {
    show(fmt::format("{}; {}\n", totals_text({{merged.rows, merged.with_result}}, merged.rows, ""),
                     options.output));
  }
  return exit_of(merged.rows, merged.with_result);
}

int export_rows(const Options& options) {
  const bool to_sqlite = options.output.ends_with(".sqlite") || options.output.ends_with(".db");
  if (options.files.size() != 2 || options.output.empty()) {
    throw UsageError(
        "penstock sweep export OUT.jsonl -o FILE: expected one file of results, and a "
        ".csv, .sqlite or .db file");
  }
  if (!to_sqlite && options.output != "-" && !options.output.ends_with(".csv")) {
    throw UsageError(fmt::format("-o {}: expected a .csv, .sqlite or .db file", options.output));
  }
  check_outputs({options.output}, {options.files[1]}, options.replaced);
  const RowTable table = read_row_table(options.files[1]);
  if (to_sqlite) {
    write_sqlite(table, options.output, options.replaced);
  } else {
    write_file(options.output, csv_of(table), options.replaced);
  }
  return ExitCode::done;
}

int sweep(const Options& options) {
  if (options.files.front() == "merge") return merge(options);
  if (options.files.front() == "export") return export_rows(options);
  Options own = options;
  own.dealt = options.shard.empty() && is_dealt();
  return run(own);
}

}  // namespace

constinit extern const CommandEntry sweep_entry{
    .name = "sweep",
    .summary = "run many configurations of a scenario; goes on where it was stopped",
    .group = CommandGroup::simulate,
    .example =
        "penstock sweep first_run.json --vary /schedule/name=gpipe,1f1b,zb-h1 "
        "--vary /schedule/microbatches=8..64:8 -o sweep.jsonl",
    .declare = command<Options, sweep>,
};

}  // namespace penstock::sweep_file
