#pragma once

#include <string>

#include "experiments/input/files/output_file.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// Writes a widget as PNG, SVG or PDF, by the suffix. Throws as OutputFile does.
void write_picture(QWidget& view, const std::string& path, Existing replaced);

/// The same for what is seen of runs, where a dialog has asked.
void export_view(TimelineCanvas& canvas, const std::string& path);

}  // namespace penstock
