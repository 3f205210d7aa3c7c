#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/program/commands/line/command_line.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/results/run_picture.hpp"
#include "sim/base/error.hpp"

namespace penstock {

/// Options for the look of a picture.
struct PictureLook {
  std::string width;
  std::string height;
  std::optional<std::uint32_t> font_size;
  std::string title;
  std::string theme = "light";
};

/// Whether any of it is given.
inline bool is_given(const PictureLook& look) {
  const PictureLook usual;
  return look.width != usual.width || look.height != usual.height || look.font_size ||
         look.title != usual.title || look.theme != usual.theme;
}

inline void declare(CommandLine& line, PictureLook& look) {
  line.option("--width", look.width, "width in 1/96 inch (PNG: 2 pixels each), or 85mm", "LENGTH");
  line.option("--height", look.height, "height of the picture, likewise", "LENGTH");
  line.option("--font-size", look.font_size, "size of its labels, default 11");
  line.option("--title", look.title, "title of the picture", "TEXT");
  line.choice("--theme", look.theme, {"light", "dark"}, "colours, default light");
}

/// Throws UsageError for invalid sizes.
inline PictureOptions options_of(const PictureLook& look) {
  PictureOptions options;
  options.width = length_of("--width", look.width);
  options.height = length_of("--height", look.height);
  if (look.font_size) options.font_size = within("--font-size", look.font_size, 72);
  if (!look.title.empty()) options.title = look.title;
  if (look.theme == "dark") options.theme = PictureTheme::dark;
  return options;
}

/// Where and how to draw the timeline of a run; an empty path means no picture.
struct PictureFiles {
  std::string svg;
  std::string png;
  std::string pdf;
  PictureLook look;
};

inline void declare(CommandLine& line, PictureFiles& files) {
  line.option("--svg", files.svg, "draw the timeline as SVG", "FILE");
  line.option("--png", files.png, "draw the timeline as PNG", "FILE");
  line.option("--pdf", files.pdf, "draw the timeline as PDF", "FILE");
  declare(line, files.look);
}

inline bool on_standard_output(const PictureFiles& files) {
  return files.svg == "-" || files.png == "-" || files.pdf == "-";
}

inline bool any(const PictureFiles& files) {
  return !files.svg.empty() || !files.png.empty() || !files.pdf.empty();
}

/// Throws UsageError, before any work, for a file name with the suffix of another format and for an
/// invalid look.
inline void check(const PictureFiles& files) {
  const auto check_suffix = [](const char* option, const std::string& path, PictureFormat format) {
    if (path.empty() || path == "-" || picture_format(path) == format) return;
    throw UsageError(fmt::format("{} {}: the suffix is that of another format; {} files end in .{}",
                                 option, path, option + 2, option + 2));
  };
  check_suffix("--svg", files.svg, PictureFormat::svg);
  check_suffix("--png", files.png, PictureFormat::png);
  check_suffix("--pdf", files.pdf, PictureFormat::pdf);
  options_of(files.look);
}

/// The result must have a plan: a deadlocked run has nothing to draw.
inline void write_pictures(const PictureFiles& files, const RunResult& result, OutputSet& outputs,
                           const TimelineExplanation& explanation = {}) {
  const PictureOptions options = options_of(files.look);
  const auto write = [&](const std::string& path, PictureFormat format) {
    if (path.empty()) return;
    outputs.write(
        path, draw_run(format, *result.plan, result.timeline, result.title, options, explanation));
  };
  write(files.svg, PictureFormat::svg);
  write(files.png, PictureFormat::png);
  write(files.pdf, PictureFormat::pdf);
}

}  // namespace penstock
