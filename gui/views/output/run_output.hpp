#pragma once

#include <string>

#include "experiments/input/files/output_file.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/lanes/run_lanes.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// Writes the whole run: as the command line's picture (.svg, .png, .pdf), as a page to pan
/// and zoom (.html), as a trace for Perfetto (.json, .json.gz), or as a timeline (.timeline).
/// Throws UsageError.
void export_run(const ViewedRun& run, const std::string& path);

/// The ops of an area as a table in CSV: rank, op, stage, pass, microbatch, begin and end in
/// microseconds.
std::string csv_of(const Area& area, const PaintedRun& run);

/// Writes a widget as PNG, SVG or PDF, by the suffix. Throws as OutputFile does.
void write_picture(QWidget& view, const std::string& path, Existing replaced);

/// The same for what is seen of runs, where a dialog has asked.
void export_view(TimelineCanvas& canvas, const std::string& path);

}  // namespace penstock
