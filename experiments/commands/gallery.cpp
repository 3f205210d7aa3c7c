#include "experiments/studies/gallery.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
#include "experiments/files/output_file.hpp"
#include "experiments/long_work/progress.hpp"
#include "experiments/results/run_picture.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

struct Options {
  std::string output;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> microbatches;
};

/// All pictures, or none.
void draw_all(const std::string& folder, const std::vector<Exhibit>& exhibits) {
  ProgressBar bar;
  const OnProgress on_progress = bar.callback();
  std::vector<OutputFile> files;
  for (const Exhibit& exhibit : exhibits) {
    files.emplace_back(resolve(folder, exhibit.name + ".svg"))
        .write(draw_run(PictureFormat::svg, *exhibit.result.plan, exhibit.result.timeline,
                        exhibit.result.title));
    files.back().close();
    if (on_progress) on_progress("pictures", files.size(), exhibits.size());
  }
  publish_together(files);
}

int show(const Options& options) {
  const Gallery all =
      gallery(within("--ranks", options.ranks.value_or(4), Limits::ranks / 4),
              within("--microbatches", options.microbatches.value_or(8), Limits::microbatches / 2));
  for (const std::string& why : all.left_out) say("left out: " + why);
  if (all.exhibits.empty()) throw UsageError("no schedule suits these sizes");
  fmt::print("{}", gallery_table(all.exhibits));
  if (!options.output.empty()) draw_all(options.output, all.exhibits);
  return ExitCode::done;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.option("--ranks", options->ranks, "pipeline ranks, default 4");
  line.option("--microbatches", options->microbatches, "default 8");
  line.option("-o,--output", options->output, "draw each into this folder as SVG", "FOLDER");
  return [options] { return show(*options); };
}

}  // namespace

constinit extern const CommandEntry gallery_entry{
    .name = "gallery",
    .summary = "every schedule at one example: a table, and a picture of each",
    .details =
        "Each rank holds an equal share of the model, which takes 4 ms for F, I and W each of a\n"
        "microbatch, however many chunks it is cut into; links are free. The peak is the most that "
        "a\n"
        "rank holds, in microbatches of its share.\n"
        "\n"
        "Example: penstock gallery -o experiments/gallery",
    .declare = declare,
};

}  // namespace penstock
