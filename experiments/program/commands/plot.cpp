#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_input.hpp"
#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/plan/studies/bubble_study.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "experiments/show/pictures/plots/plot_data.hpp"
#include "experiments/show/pictures/plots/plots.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock::plot_file {
namespace {

struct Options : Arguments {
  Text results = line.input().optional(
      "RESULTS",
      "a .timeline file or a scenario; results of a sweep; JSON of calibrate or reproduce");
  Text given_kind = line.choice("--kind",
                                {"bubble", "timeline", "memory", "calibration", "published",
                                 "lines", "heatmap", "pareto", "scaling"},
                                "what to draw; default: of a run timeline, of a sweep lines");
  Text output = line.option("-o,--output", "the picture: .svg, .png or .pdf", "FILE");
  Text csv = line.option("--csv", "write the data of the picture as CSV", "FILE");
  Number ranks = line.number("--ranks", "bubble: pipeline ranks, default 8");
  Text bubble =
      line.choice("--bubble", bubble_kinds(),
                  "bubble: which definition, as in the report; default of_makespan", "of_makespan");
  Text schedules = line.option(
      "--schedules", "bubble: schedules, with chunks after a colon: 1f1b,interleaved-1f1b:4",
      "LIST", suggested_schedule_lists);
  Text microbatches = line.option("--microbatches",
                                  "bubble: numbers of microbatches, default 1,2,4 to 256", "LIST");
  Text x = line.option("--x", "of a sweep: the axis to the right", "NAME");
  Text y = line.option("--y", "the result, default bubble.of_makespan", "NAME");
  Text by = line.option("--by", "a line, or a row of the map, for each value", "NAME");
  PictureLook look{{line}};
  const Existing& replaced = line.replaces();
  std::string kind = {};     // as given, or as the file says
  std::string content = {};  // of RESULTS, which may be a pipe; not of tables
};

/// Writes the requested files: `draw` gives a picture, `data` its CSV.
template <class Draw, class Data>
int write_plot(const Options& options, Draw&& draw, Data&& data) {
  OutputSet outputs(options.replaced);
  if (!options.output.empty()) outputs.write(options.output, draw(picture_format(options.output)));
  if (!options.csv.empty()) outputs.write(options.csv, data());
  outputs.publish();
  return ExitCode::done;
}

/// The same of a plot that has its look and its data in it.
template <class Plot>
int write_plot(const Options& options, Plot plot, std::string (*draw)(PictureFormat, const Plot&),
               std::string (*csv)(const Plot&)) {
  plot.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw(format, plot); }, [&] { return csv(plot); });
}

int plot_bubble(const Options& options) {
  BubbleStudy study;
  study.kind = bubble_kind_of(options.bubble);
  if (options.ranks) study.ranks = *options.ranks;
  study.schedules = options.schedules.empty() ? usual_schedules() : schedules_in(options.schedules);
  study.microbatches = microbatches_in(options.microbatches);
  BubblePlot plot = [&] {
    const Waiting waiting("simulating");
    return bubble_study(study);
  }();
  for (const std::string& line : missing_points(plot)) say(line);
  return write_plot(options, std::move(plot), draw_bubble_plot, bubble_csv);
}

Recording recorded(const Options& options, std::vector<BytesByKind>* kinds = nullptr) {
  const Waiting waiting("simulating");
  return recording_in(options.results, options.content, {}, kinds);
}

int plot_timeline(const Options& options) {
  const Recording run = recorded(options);
  return write_plot(
      options,
      [&](PictureFormat format) {
        return draw_run(format, run.plan, run.timeline, run.title, options_of(options.look));
      },
      [&] { return timeline_csv(run.plan, run.timeline); });
}

int plot_memory(const Options& options) {
  std::vector<BytesByKind> kinds;
  const Recording run = recorded(options, &kinds);
  const MemoryPicture picture{run.title, options_of(options.look), std::move(kinds)};
  return about_file(options.results, [&] {
    return write_plot(
        options,
        [&](PictureFormat format) { return draw_memory(format, run.plan, run.timeline, picture); },
        [&] { return memory_csv(run.timeline, picture.kinds); });
  });
}

/// A plot of predictions, of a document of `calibrate` or `reproduce`.
int plot_predictions(const Options& options) {
  const CalibrationPlot predictions = about_file(options.results, [&] {
    const nlohmann::json document = parse_json(options.content);
    return options.kind == "published" ? published_plot(document) : calibration_plot(document);
  });
  return write_plot(options, predictions, draw_calibration_plot, calibration_csv);
}

PlottedColumns columns_of(const Options& options) {
  return {.x = options.x, .y = options.y, .by = options.by};
}

/// What `make` gives for the rows. Errors that name no option are about them.
template <class Make>
auto plot_of_rows(const Options& options, Make make) {
  const RowTable table =
      options.content.empty() ? read_row_table(options.results) : row_table_of(options.content);
  try {
    return make(table);
  } catch (const UsageError& error) {
    if (std::string_view(error.what()).starts_with("--")) throw;
    throw UsageError(fmt::format("{}: {}", options.results, error.what()));
  }
}

int plot_lines(const Options& options) {
  BubblePlot plot = plot_of_rows(options, [&](const RowTable& table) {
    return options.kind == "scaling" ? scaling_of_table(table, columns_of(options))
                                     : lines_of_table(table, columns_of(options));
  });
  return write_plot(options, std::move(plot), draw_bubble_plot, bubble_csv);
}

int plot_heat_map(const Options& options) {
  return write_plot(options,
                    plot_of_rows(options,
                                 [&](const RowTable& table) {
                                   return heat_map_of_table(table, columns_of(options));
                                 }),
                    draw_heat_map, heat_map_csv);
}

int plot_front(const Options& options) {
  return write_plot(options, plot_of_rows(options, front_of_table), draw_front_plot, front_csv);
}

/// Kinds that draw the results of a sweep.
int plot_results(const Options& options) {
  try {
    if (options.kind == "heatmap") return plot_heat_map(options);
    return options.kind == "pareto" ? plot_front(options) : plot_lines(options);
  } catch (const InputError& error) {
    const bool named = std::string_view(error.what()).starts_with(options.results);
    if (named) throw;
    throw in_file(options.results, error);
  }
}

bool draws_results(const std::string& kind) {
  return kind == "lines" || kind == "heatmap" || kind == "pareto" || kind == "scaling";
}

bool is_table(const std::string& path) {
  const std::initializer_list<const char*> ends{".jsonl", ".csv", ".sqlite", ".db"};
  return std::ranges::any_of(ends, [&](const char* end) { return path.ends_with(end); });
}

/// What a file is drawn as where no kind is given: a run as its timeline, rows of a sweep as lines,
/// what calibrate or reproduce wrote as predictions. Empty where that is open.
std::string usual_kind(const Options& options) {
  const std::string& content = options.content;
  if (is_table(options.results)) return "lines";
  if (is_recording(options.results, content)) return "timeline";
  if (label_of_row(content.substr(0, content.find('\n')))) return "lines";
  if (!is_json(content)) return "";
  const nlohmann::json document = parse_json(content);
  if (document.contains("model")) return "timeline";
  if (document.contains("tables") || document.is_array()) return "published";
  return document.contains("kind") && document["kind"] == "calibration" ? "calibration" : "";
}

/// Throws UsageError, before any work, for options that conflict.
void check_options(const Options& options) {
  if (options.kind.empty()) {
    throw UsageError(
        "--kind is missing; it is bubble, timeline, memory, calibration or published; or, of a "
        "sweep, lines, heatmap, pareto or scaling");
  }
  if (options.output.empty() && options.csv.empty()) {
    throw UsageError("-o is missing: a .svg, .png or .pdf file; or --csv for the data alone");
  }
  if (!options.output.empty()) picture_format(options.output);
  check_outputs({options.output, options.csv}, {options.results}, options.replaced);
  options_of(options.look);
  if (options.kind == "bubble") {
    if (options.results.empty()) return;
    throw UsageError(fmt::format(
        "{}: --kind bubble takes no results; it simulates schedules itself", options.results));
  }
  if (options.results.empty()) {
    throw UsageError(
        options.kind == "calibration"
            ? "--kind calibration needs a file that calibrate --json wrote"
        : options.kind == "published"
            ? "--kind published needs a file that reproduce -o F.json wrote"
        : draws_results(options.kind)
            ? fmt::format("--kind {} needs the results of a sweep: .jsonl, .csv or .sqlite",
                          options.kind)
            : fmt::format("--kind {} needs a .timeline file or a scenario", options.kind));
  }
  if (options.ranks || !options.schedules.empty() || !options.microbatches.empty()) {
    throw UsageError("--ranks, --schedules and --microbatches go with --kind bubble");
  }
  const bool named = !options.x.empty() || !options.y.empty() || !options.by.empty();
  if (!named || (draws_results(options.kind) && options.kind != "pareto")) return;
  throw UsageError("--x, --y and --by go with --kind lines, heatmap and scaling");
}

int plot(const Options& given) {
  Options options = given;
  options.kind = given.given_kind;
  if (!options.kind.empty()) check_options(options);
  const bool by_line =
      options.kind.empty() ? is_table(options.results) : draws_results(options.kind);
  if (!options.results.empty() && !by_line) options.content = read_file(options.results);
  if (options.kind.empty()) {
    options.kind = usual_kind(options);
    check_options(options);
  }
  if (options.kind == "bubble") return plot_bubble(options);
  if (options.kind == "timeline") return plot_timeline(options);
  if (draws_results(options.kind)) return plot_results(options);
  return options.kind == "memory" ? plot_memory(options) : plot_predictions(options);
}

}  // namespace

constinit extern const CommandEntry plot_entry{
    .name = "plot",
    .summary = "draw schedules, runs, sweeps, calibrations and papers",
    .group = CommandGroup::files,
    .on_first_screen = true,
    .example = "penstock plot --kind bubble --ranks 8 -o bubble.svg",
    .declare = command<Options, plot>,
};

}  // namespace penstock::plot_file
