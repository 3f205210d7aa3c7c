#include "experiments/plan/studies/gallery.hpp"

#include "experiments/program/commands/line/shared_options.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/limits.hpp"

namespace penstock::gallery_file {
namespace {

struct Options : Arguments {
  Number ranks = line.number("--ranks", "pipeline ranks, default 4");
  Number microbatches = line.number("--microbatches", "default 8");
  Text output = line.folder("-o,--output", "draw each into this folder as SVG");
  PictureLook look{{line}};
  const Existing& replaced = line.replaces();
};

/// Draws all pictures, or none.
void draw_exhibits(const Options& options, const std::vector<Exhibit>& exhibits, OutputSet& files) {
  ProgressBar bar;
  const OnProgress on_progress = bar.callback();
  for (const Exhibit& exhibit : exhibits) {
    files.write(resolve(options.output, exhibit.name + ".svg"),
                draw_run(PictureFormat::svg, *exhibit.result.plan, exhibit.result.timeline,
                         exhibit.result.title, options_of(options.look)));
    if (on_progress) on_progress("pictures", files.size(), exhibits.size());
  }
  files.publish();
}

int print_gallery(const Options& options) {
  options_of(options.look);
  OutputSet files(options.replaced);
  if (!options.output.empty()) files.make_folder(options.output);
  const Gallery all =
      gallery(within("--ranks", options.ranks.value_or(4), Limits::ranks / 4),
              within("--microbatches", options.microbatches.value_or(8), Limits::microbatches / 2));
  for (const std::string& why : all.left_out) say("left out: " + why);
  if (all.exhibits.empty()) throw UsageError("no schedule suits these sizes");
  show(gallery_table(all.exhibits));
  if (!options.output.empty()) draw_exhibits(options, all.exhibits, files);
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry gallery_entry{
    .name = "gallery",
    .summary = "compare all schedules on one example, with pictures",
    .group = CommandGroup::plan,
    .example = "penstock gallery -o gallery",
    .declare = command<Options, print_gallery>,
};

}  // namespace penstock::gallery_file
