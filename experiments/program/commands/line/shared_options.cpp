#include "experiments/program/commands/line/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A file of a format of pictures.
struct FormatFile {
  const char* suffix;
  PictureFormat format;
  const std::string& path;
};

/// Those that are given.
std::vector<FormatFile> format_files(const PictureFiles& files) {
  std::vector<FormatFile> given;
  for (const FormatFile& one : {FormatFile{"svg", PictureFormat::svg, files.svg},
                                FormatFile{"png", PictureFormat::png, files.png},
                                FormatFile{"pdf", PictureFormat::pdf, files.pdf}}) {
    if (!one.path.empty()) given.push_back(one);
  }
  return given;
}

}  // namespace

bool is_given(const PictureLook& look) {
  return !look.width.empty() || !look.height.empty() || look.font_size || !look.title.empty() ||
         look.theme != "light";
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

std::vector<std::string> paths_of(const PictureFiles& files) {
  std::vector<std::string> paths;
  for (const FormatFile& one : format_files(files)) paths.push_back(one.path);
  return paths;
}

bool on_standard_output(const PictureFiles& files) {
  const std::vector<std::string> paths = paths_of(files);
  return std::find(paths.begin(), paths.end(), "-") != paths.end();
}

void check(const PictureFiles& files, bool others) {
  for (const auto& [suffix, format, file] : format_files(files)) {
    if (file == "-" || picture_format(file) == format) continue;
    throw UsageError(
        fmt::format("--{} {}: the suffix is that of another format; {} files end in .{}", suffix,
                    file, suffix, suffix));
  }
  if (!others && paths_of(files).empty() && is_given(files.look)) {
    throw UsageError(
        "--width, --height, --font-size, --title and --theme are about a picture; "
        "give --svg, --png or --pdf");
  }
  options_of(files.look);
}

void write_pictures(const PictureFiles& files, const RunResult& result, OutputSet& outputs,
                    const TimelineExplanation& explanation) {
  const PictureOptions options = options_of(files.look);
  for (const FormatFile& one : format_files(files)) {
    outputs.write(one.path, draw_run(one.format, *result.plan, result.timeline, result.title,
                                     options, explanation));
  }
}

TorchOptions torch_options(const TorchFlags& flags) {
  constexpr std::uint32_t most_s = 86'400;
  TorchOptions torch{.model = flags.model};
  if (!torch.model.empty()) about_file(torch.model, [&] { open_input(torch.model); });
  if (!flags.quiet) return torch;
  if (*flags.quiet > 0) within("--quiet", flags.quiet, most_s);
  torch.quiet_s = *flags.quiet;
  return torch;
}

const char* given(const TorchFlags& flags) {
  if (flags.quiet) return "--quiet";
  return flags.model.empty() ? nullptr : "--model";
}

WholeTraining training_of(const CostFlags& flags) {
  const auto positive = [](const char* option, const std::string& text) -> std::optional<double> {
    if (text.empty()) return std::nullopt;
    const auto value = plain_number(text);
    if (value && *value > 0) return value;
    throw UsageError(fmt::format("{} {}: it must be a number above 0, such as {}", option, text,
                                 option == std::string_view("--price") ? "2.5" : "15e12"));
  };
  const WholeTraining training{positive("--tokens", flags.tokens),
                               positive("--price", flags.price)};
  if (training.price_per_device_hour && !training.tokens) {
    throw UsageError("--price goes with --tokens, the tokens of the whole training");
  }
  return training;
}

TrainingRequest request_of(const TrainingFlags& flags) {
  return {
      .model = flags.model,
      .hardware = flags.hardware,
      .devices = within("--devices", flags.devices, most_planned_devices),
      .sequence = within_if_given("--sequence", flags.sequence, most_planned_examples),
      .microbatch = within_if_given("--microbatch", flags.microbatch, most_planned_examples),
      .global_batch = within_if_given("--global-batch", flags.global_batch, most_planned_examples)};
}

}  // namespace penstock
