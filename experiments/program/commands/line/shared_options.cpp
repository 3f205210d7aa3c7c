#include "experiments/program/commands/line/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/input/files/files.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A format of pictures, and the file of that format.
struct FormatFile {
  const char* name;
  const char* suffix;
  PictureFormat format;
  std::string PictureFiles::*path;
};
constexpr std::array format_files{FormatFile{"SVG", "svg", PictureFormat::svg, &PictureFiles::svg},
                                  FormatFile{"PNG", "png", PictureFormat::png, &PictureFiles::png},
                                  FormatFile{"PDF", "pdf", PictureFormat::pdf, &PictureFiles::pdf}};

}  // namespace

bool is_given(const PictureLook& look) {
  const PictureLook usual;
  return look.width != usual.width || look.height != usual.height || look.font_size ||
         look.title != usual.title || look.theme != usual.theme;
}

void declare(CommandLine& line, PictureLook& look) {
  line.option("--width", look.width, "width in 1/96 inch (PNG: 2 pixels each), or 85mm", "LENGTH");
  line.option("--height", look.height, "height of the picture, likewise", "LENGTH");
  line.option("--font-size", look.font_size, "size of its labels, default 11");
  line.option("--title", look.title, "title of the picture", "TEXT");
  line.choice("--theme", look.theme, {"light", "dark"}, "colours, default light");
}

PictureOptions options_of(const PictureLook& look) {
  PictureOptions options;
  options.width = length_of("--width", look.width);
  options.height = length_of("--height", look.height);
  if (look.font_size) options.font_size = within("--font-size", look.font_size, 72);
  if (!look.title.empty()) options.title = look.title;
  if (look.theme == "dark") options.theme = PictureTheme::dark;
  return options;
}

void declare(CommandLine& line, PictureFiles& files) {
  for (const FormatFile& one : format_files) {
    line.option(fmt::format("--{}", one.suffix), files.*one.path,
                fmt::format("draw the timeline as {}", one.name), "FILE");
  }
  declare(line, files.look);
}

std::vector<std::string> paths_of(const PictureFiles& files) {
  std::vector<std::string> paths;
  for (const FormatFile& one : format_files) {
    if (!(files.*one.path).empty()) paths.push_back(files.*one.path);
  }
  return paths;
}

bool on_standard_output(const PictureFiles& files) {
  const std::vector<std::string> paths = paths_of(files);
  return std::find(paths.begin(), paths.end(), "-") != paths.end();
}

void check(const PictureFiles& files) {
  for (const auto& [name, suffix, format, path] : format_files) {
    const std::string& file = files.*path;
    if (file.empty() || file == "-" || picture_format(file) == format) continue;
    throw UsageError(
        fmt::format("--{} {}: the suffix is that of another format; {} files end in .{}", suffix,
                    file, suffix, suffix));
  }
  options_of(files.look);
}

void write_pictures(const PictureFiles& files, const RunResult& result, OutputSet& outputs,
                    const TimelineExplanation& explanation) {
  const PictureOptions options = options_of(files.look);
  for (const FormatFile& one : format_files) {
    if ((files.*one.path).empty()) continue;
    outputs.write(files.*one.path, draw_run(one.format, *result.plan, result.timeline, result.title,
                                            options, explanation));
  }
}

void declare(CommandLine& line, TorchFlags& flags) {
  line.option("--model", flags.model, "torch_*: layers of your own, from layer(number)", "FILE.py");
  line.option("--quiet", flags.quiet,
              "torch_*: seconds to wait for a quiet machine, at most; default 60");
}

TorchOptions torch_options(const TorchFlags& flags) {
  constexpr std::uint32_t most_s = 86'400;
  TorchOptions torch{.model = flags.model};
  if (!flags.quiet) return torch;
  if (*flags.quiet > 0) within("--quiet", flags.quiet, most_s);
  torch.quiet_s = *flags.quiet;
  return torch;
}

const char* given(const TorchFlags& flags) {
  if (flags.quiet) return "--quiet";
  return flags.model.empty() ? nullptr : "--model";
}

void declare(CommandLine& line, TrainingFlags& flags) {
  line.option("--hardware", flags.hardware, "a machine (penstock list hardware), or its file",
              "NAME|FILE");
  line.suggest("--hardware", suggested_machines);
  line.option("--devices", flags.devices, "devices to lay the model out on");
  line.option("--sequence", flags.sequence, "tokens of an example; default 4096 or the file's");
  line.option("--microbatch", flags.microbatch,
              "examples that a device works on at a time; default: that of a script, else tries 1, "
              "2, 4, 8");
  line.option("--global-batch", flags.global_batch,
              "examples of an iteration; default: that of a training script, else 8 per device, "
              "fewer above 128 devices");
}

TrainingRequest request_of(const TrainingFlags& flags) {
  constexpr std::uint32_t most_devices = 16'384;
  return {.model = flags.model,
          .hardware = flags.hardware,
          .devices = within("--devices", flags.devices, most_devices),
          .sequence = within_if_given("--sequence", flags.sequence),
          .microbatch = within_if_given("--microbatch", flags.microbatch),
          .global_batch = within_if_given("--global-batch", flags.global_batch)};
}

}  // namespace penstock
