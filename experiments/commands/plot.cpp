#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiments/calibration/calibration_picture.hpp"
#include "experiments/commands/line/suggestions.hpp"
#include "experiments/commands/picture_files.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
#include "experiments/files/json_input.hpp"
#include "experiments/long_work/progress.hpp"
#include "experiments/pictures/bubble_plot.hpp"
#include "experiments/pictures/memory_picture.hpp"
#include "experiments/pictures/plot_data.hpp"
#include "experiments/results/run_picture.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/studies/bubble_study.hpp"
#include "sim/base/error.hpp"

namespace penstock {
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
  PictureLook look;
};

/// Writes the requested files: `draw` gives a picture, `data` its CSV.
template <class Draw, class Data>
int write_plot(const Options& options, Draw&& draw, Data&& data) {
  if (!options.output.empty()) write_file(options.output, draw(picture_format(options.output)));
  if (!options.csv.empty()) write_file(options.csv, data());
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

Recording recorded(const std::string& path) {
  const Waiting waiting("simulating");
  return recording_of(path);
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
  const Recording run = recorded(options.results);
  const MemoryPicture picture{run.title, options_of(options.look)};
  try {
    return write_plot(
        options,
        [&](PictureFormat format) { return draw_memory(format, run.plan, run.timeline, picture); },
        [&] { return memory_csv(run.timeline); });
  } catch (const InputError& error) {
    throw in_file(options.results, error);
  }
}

CalibrationPlot calibration_of(const std::string& path) {
  const std::string content = read_file(path);
  try {
    return calibration_plot(parse_json(content));
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

int plot_calibration(const Options& options) {
  CalibrationPlot plot = calibration_of(options.results);
  plot.options = options_of(options.look);
  return write_plot(
      options, [&](PictureFormat format) { return draw_calibration_plot(format, plot); },
      [&] { return calibration_csv(plot); });
}

/// Throws UsageError, before any work, for options that conflict.
void check_options(const Options& options) {
  if (options.kind.empty()) {
    throw UsageError("--kind is missing; it is bubble, timeline, memory or calibration");
  }
  if (options.output.empty() && options.csv.empty()) {
    throw UsageError("-o is missing: a .svg, .png or .pdf file; or --csv for the data alone");
  }
  if (!options.output.empty()) picture_format(options.output);
  check_outputs({options.output, options.csv}, {options.results});
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
            : fmt::format("--kind {} needs a .timeline file or a scenario", options.kind));
  }
  if (options.ranks || !options.schedules.empty() || !options.microbatches.empty()) {
    throw UsageError("--ranks, --schedules and --microbatches go with --kind bubble");
  }
}

int plot(const Options& options) {
  check_options(options);
  if (options.kind == "bubble") return plot_bubble(options);
  if (options.kind == "timeline") return plot_timeline(options);
  return options.kind == "memory" ? plot_memory(options) : plot_calibration(options);
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.optional("RESULTS", options->results,
                "a .timeline file or a scenario; for calibration, calibrate's JSON");
  line.choice("--kind", options->kind, {"bubble", "timeline", "memory", "calibration"},
              "what to draw");
  line.option("-o,--output", options->output, "the picture: .svg, .png or .pdf", "FILE");
  line.option("--csv", options->csv, "write the data of the picture as CSV", "FILE");
  line.option("--ranks", options->ranks, "bubble: pipeline ranks, default 8");
  line.choice("--bubble", options->bubble, bubble_kinds(),
              "bubble: which definition, as in the report; default of_makespan");
  line.option("--schedules", options->schedules,
              "bubble: schedules, with chunks after a colon: 1f1b,interleaved-1f1b:4", "LIST");
  line.suggest("--schedules", suggested_schedule_lists);
  line.option("--microbatches", options->microbatches,
              "bubble: numbers of microbatches, default 1,2,4 to 256", "LIST");
  declare(line, options->look);
  return [options] { return plot(*options); };
}

}  // namespace

constinit extern const CommandEntry plot_entry{
    .name = "plot",
    .summary = "draw the bubble of schedules, or a timeline",
    .group = CommandGroup::files,
    .on_first_screen = true,
    .example = "penstock plot --kind bubble --ranks 8 -o bubble.svg",
    .declare = declare,
};

}  // namespace penstock
