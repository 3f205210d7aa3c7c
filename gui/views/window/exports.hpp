#pragma once

#include <QWidget>
#include <string>

#include "gui/models/lanes/area.hpp"
#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// Writes what is seen as PNG, SVG or PDF, by the suffix. Throws UsageError.
void export_view(TimelineCanvas& canvas, const std::string& path);

/// Writes the whole run: as the command line's picture (.svg, .png, .pdf), as a trace for Perfetto
/// (.json, .json.gz), or as a timeline (.timeline). Throws UsageError.
void export_run(const ViewedRun& run, const std::string& path);

/// The ops of an area as a table in CSV: rank, op, stage, pass, microbatch, begin and end in
/// microseconds.
std::string csv_of(const Area& area, const PaintedRun& run);

}  // namespace penstock
