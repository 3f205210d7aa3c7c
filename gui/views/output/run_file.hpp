#pragma once

#include <string>

#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/lanes/area.hpp"

namespace penstock {

/// Writes the whole run: as the command line's picture (.svg, .png, .pdf), as a trace for Perfetto
/// (.json, .json.gz), or as a timeline (.timeline). Throws UsageError.
void export_run(const ViewedRun& run, const std::string& path);

/// The ops of an area as a table in CSV: rank, op, stage, pass, microbatch, begin and end in
/// microseconds.
std::string csv_of(const Area& area, const PaintedRun& run);

}  // namespace penstock
