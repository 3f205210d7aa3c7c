#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/plan/studies/bubble_study.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/pictures/lanes/memory_picture.hpp"
#include "experiments/show/pictures/plots/bubble_plot.hpp"
#include "experiments/show/pictures/plots/plot_data.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"

namespace penstock::plot_file {
namespace {

struct Options {
  std::string results;
  std::string kind;
  std::string output;
  std::string csv;
  std::optional<std::uint32_t> ranks;
  std::string bubble = "of_makespan";
  std::string schedules;
  std::string microbatches;
  PlottedColumns columns;
  PictureLook look;
  Existing replaced = Existing::own;
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
  plot.options = options_of(options.look);
  for (const std::string& line : missing_points(plot)) say(line);
  return write_plot(
      options, [&](PictureFormat format) { return draw_bubble_plot(format, plot); },
      [&] { return bubble_csv(plot); });
}

Recording recorded(const std::string& path, std::vector<BytesByKind>* kinds = nullptr) {
  const Waiting waiting("simulating");
  return recording_of(path, {}, kinds);
}

int plot_timeline(const Options& options) {
  const Recording run = recorded(options.results);
  return write_plot(
      options,
      [&](PictureFormat format) {
        return draw_run(format, run.plan, run.timeline, run.title, options_of(options.look));
      },
      [&] { return timeline_csv(run.plan, run.timeline); });
}

int plot_memory(const Options& options) {
  std::vector<BytesByKind> kinds;
  const Recording run = recorded(options.results, &kinds);
  const MemoryPicture picture{run.title, options_of(options.look), std::move(kinds)};
  try {
    return write_plot(
        options,
        [&](PictureFormat format) { return draw_memory(format, run.plan, run.timeline, picture); },
        [&] { return memory_csv(run.timeline, picture.kinds); });
  } catch (const InputError& error) {
    throw in_file(options.results, error);
  }
}

/// A plot of predictions, of a document of `calibrate` or `reproduce`.
CalibrationPlot predictions_of(const Options& options) {
  const std::string content = read_file(options.results);
  try {
    const nlohmann::json document = parse_json(content);
    return options.kind == "published" ? published_plot(document) : calibration_plot(document);
  } catch (const InputError& error) {
    throw in_file(options.results, error);
  }
}

int plot_predictions(const Options& options) {
  CalibrationPlot plot = predictions_of(options);
  plot.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw_calibration_plot(format, plot); },
      [&] { return calibration_csv(plot); });
}

int plot_lines(const Options& options) {
  const RowTable table = read_row_table(options.results);
  BubblePlot plot = options.kind == "scaling" ? scaling_of_table(table, options.columns)
                                              : lines_of_table(table, options.columns);
  plot.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw_bubble_plot(format, plot); },
      [&] { return bubble_csv(plot); });
}

int plot_heat_map(const Options& options) {
  HeatMap map = heat_map_of_table(read_row_table(options.results), options.columns);
  map.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw_heat_map(format, map); },
      [&] { return heat_map_csv(map); });
}

int plot_front(const Options& options) {
  FrontPlot plot = front_of_table(read_row_table(options.results));
  plot.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw_front_plot(format, plot); },
      [&] { return front_csv(plot); });
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

/// What a file is drawn as where no kind is given: a run as its timeline, rows of a sweep as lines.
/// Empty where that is open.
std::string usual_kind(const std::string& results) {
  if (results.empty() || results == "-") return "";
  for (const char* suffix : {".jsonl", ".csv", ".sqlite", ".db"}) {
    if (results.ends_with(suffix)) return "lines";
  }
  const std::string content = read_file(results);
  if (is_recording(results, content)) return "timeline";
  const bool runs = is_json(content) && parse_json(content).contains("model");
  return runs ? "timeline" : "";
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
  const PlottedColumns& columns = options.columns;
  const bool named = !columns.x.empty() || !columns.y.empty() || !columns.by.empty();
  if (!named || (draws_results(options.kind) && options.kind != "pareto")) return;
  throw UsageError("--x, --y and --by go with --kind lines, heatmap and scaling");
}

int plot(const Options& given) {
  Options options = given;
  if (options.kind.empty()) options.kind = usual_kind(options.results);
  check_options(options);
  if (options.kind == "bubble") return plot_bubble(options);
  if (options.kind == "timeline") return plot_timeline(options);
  if (draws_results(options.kind)) return plot_results(options);
  return options.kind == "memory" ? plot_memory(options) : plot_predictions(options);
}

void declare(CommandLine& line, Options& options) {
  line.optional(
      "RESULTS", options.results,
      "a .timeline file or a scenario; results of a sweep; JSON of calibrate or reproduce");
  line.choice("--kind", options.kind,
              {"bubble", "timeline", "memory", "calibration", "published", "lines", "heatmap",
               "pareto", "scaling"},
              "what to draw; default: of a run timeline, of a sweep lines");
  line.option("-o,--output", options.output, "the picture: .svg, .png or .pdf", "FILE");
  line.option("--csv", options.csv, "write the data of the picture as CSV", "FILE");
  line.option("--ranks", options.ranks, "bubble: pipeline ranks, default 8");
  line.choice("--bubble", options.bubble, bubble_kinds(),
              "bubble: which definition, as in the report; default of_makespan");
  line.option("--schedules", options.schedules,
              "bubble: schedules, with chunks after a colon: 1f1b,interleaved-1f1b:4", "LIST");
  line.suggest("--schedules", suggested_schedule_lists);
  line.option("--microbatches", options.microbatches,
              "bubble: numbers of microbatches, default 1,2,4 to 256", "LIST");
  line.option("--x", options.columns.x, "of a sweep: the axis to the right", "NAME");
  line.option("--y", options.columns.y, "the result, default bubble.of_makespan", "NAME");
  line.option("--by", options.columns.by, "a line, or a row of the map, for each value", "NAME");
  declare(line, options.look);
  line.replaces(options.replaced);
}

}  // namespace

constinit extern const CommandEntry plot_entry{
    .name = "plot",
    .summary = "draw schedules, runs, sweeps, calibrations and papers",
    .group = CommandGroup::files,
    .on_first_screen = true,
    .example = "penstock plot --kind bubble --ranks 8 -o bubble.svg",
    .declare = command<Options, declare, plot>,
};

}  // namespace penstock::plot_file
