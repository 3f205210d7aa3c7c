#pragma once

#include <string>

#include "experiments/commands/line/command_line.hpp"
#include "experiments/files/files.hpp"
#include "experiments/results/run_picture.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// Where to draw the timeline of a run; an empty path is a picture that nobody asked for.
struct PictureFiles {
  std::string svg;
  std::string png;
  std::string pdf;
};

inline void declare(CommandLine& line, PictureFiles& files) {
  line.option("--svg", files.svg, "draw the timeline as SVG", "FILE");
  line.option("--png", files.png, "draw the timeline as PNG", "FILE");
  line.option("--pdf", files.pdf, "draw the timeline as PDF", "FILE");
}

inline bool on_standard_output(const PictureFiles& files) {
  return files.svg == "-" || files.png == "-" || files.pdf == "-";
}

inline bool any(const PictureFiles& files) {
  return !files.svg.empty() || !files.png.empty() || !files.pdf.empty();
}

/// The result must have a plan: a run that deadlocked has nothing to draw.
inline void write_pictures(const PictureFiles& files, const RunResult& result,
                           const TimelineExplanation& explanation = {}) {
  const auto write = [&](const std::string& path, PictureFormat format) {
    if (path.empty()) return;
    write_file(path, draw_run(format, *result.plan, result.timeline, result.title, explanation));
  };
  write(files.svg, PictureFormat::svg);
  write(files.png, PictureFormat::png);
  write(files.pdf, PictureFormat::pdf);
}

}  // namespace penstock
