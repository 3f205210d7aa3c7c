#include "experiments/studies/gallery.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "experiments/commands/picture_files.hpp"
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
  PictureLook look;
};

/// Makes a folder and its parents if missing. Throws UsageError.
void make_folder(const std::string& path) {
  std::error_code fault;
  std::filesystem::create_directories(path, fault);
  if (!fault && std::filesystem::is_directory(path, fault)) return;
  throw UsageError(fmt::format("-o {}: cannot make this folder: {}", path,
                               fault ? fault.message() : "there is a file of that name"));
}

/// Draws all pictures, or none.
void draw_exhibits(const Options& options, const std::vector<Exhibit>& exhibits) {
  ProgressBar bar;
  const OnProgress on_progress = bar.callback();
  std::vector<OutputFile> files;
  for (const Exhibit& exhibit : exhibits) {
    files.emplace_back(resolve(options.output, exhibit.name + ".svg"))
        .write(draw_run(PictureFormat::svg, *exhibit.result.plan, exhibit.result.timeline,
                        exhibit.result.title, options_of(options.look)));
    files.back().close();
    if (on_progress) on_progress("pictures", files.size(), exhibits.size());
  }
  publish_together(files);
}

int show(const Options& options) {
  options_of(options.look);
  if (!options.output.empty()) make_folder(options.output);
  const Gallery all =
      gallery(within("--ranks", options.ranks.value_or(4), Limits::ranks / 4),
              within("--microbatches", options.microbatches.value_or(8), Limits::microbatches / 2));
  for (const std::string& why : all.left_out) say("left out: " + why);
  if (all.exhibits.empty()) throw UsageError("no schedule suits these sizes");
  fmt::print("{}", gallery_table(all.exhibits));
  if (!options.output.empty()) draw_exhibits(options, all.exhibits);
  return ExitCode::done;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.option("--ranks", options->ranks, "pipeline ranks, default 4");
  line.option("--microbatches", options->microbatches, "default 8");
  line.option("-o,--output", options->output, "draw each into this folder as SVG", "FOLDER");
  declare(line, options->look);
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
