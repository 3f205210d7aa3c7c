#include "experiments/studies/gallery.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "experiments/commands/registry.hpp"
#include "experiments/files/files.hpp"
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

int show(const Options& options) {
  const Gallery all =
      gallery(within("--ranks", options.ranks.value_or(4), Limits::ranks / 4),
              within("--microbatches", options.microbatches.value_or(8), Limits::microbatches / 2));
  for (const std::string& why : all.left_out) say("left out: " + why);
  if (all.exhibits.empty()) throw UsageError("no schedule suits these sizes");
  fmt::print("{}", gallery_table(all.exhibits));
  if (options.output.empty()) return ExitCode::done;
  for (const Exhibit& exhibit : all.exhibits) {
    write_file(resolve(options.output, exhibit.name + ".svg"),
               draw_run(PictureFormat::svg, *exhibit.result.plan, exhibit.result.timeline,
                        exhibit.result.title));
  }
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
    .summary = "compare all schedules on one example, with pictures",
    .group = CommandGroup::plan,
    .example = "penstock gallery -o gallery",
    .declare = declare,
};

}  // namespace penstock
