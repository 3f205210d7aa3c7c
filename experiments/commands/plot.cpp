#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
#include "experiments/pictures/bubble_plot.hpp"
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
  std::optional<std::uint32_t> ranks;
};

int plot_bubble(const Options& options) {
  if (!options.results.empty()) {
    throw UsageError("plot --kind bubble takes no results: it runs a small study of its own");
  }
  constexpr std::uint32_t default_ranks = 8;
  write_file(options.output, draw_bubble_plot(picture_format(options.output),
                                              bubble_study(options.ranks.value_or(default_ranks))));
  return ExitCode::done;
}

int plot_timeline(const Options& options) {
  if (options.results.empty()) {
    throw UsageError("plot --kind timeline needs a .timeline file, as run --timeline writes it");
  }
  if (options.ranks) throw UsageError("--ranks goes with --kind bubble");
  const PictureFormat format = picture_format(options.output);
  const Recording recording = read_recording(options.results);
  write_file(options.output, draw_run(format, recording.plan, recording.timeline, recording.title));
  return ExitCode::done;
}

int plot(const Options& options) {
  if (options.kind.empty()) throw UsageError("--kind is missing; it is bubble or timeline");
  if (options.output.empty()) throw UsageError("-o is missing; it names a .svg, .png or .pdf file");
  return options.kind == "bubble" ? plot_bubble(options) : plot_timeline(options);
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.optional("RESULTS", options->results, "a .timeline file, for --kind timeline");
  line.choice("--kind", options->kind, {"bubble", "timeline"}, "what to draw");
  line.option("-o,--output", options->output, "the picture: .svg, .png or .pdf", "FILE");
  line.option("--ranks", options->ranks, "ranks of the bubble study, default 8");
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
