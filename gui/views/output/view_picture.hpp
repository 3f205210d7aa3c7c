#pragma once

#include <string>

#include "gui/views/canvas/canvas.hpp"

namespace penstock {

/// Writes what is seen as PNG, SVG or PDF, by the suffix. Throws UsageError.
void export_view(TimelineCanvas& canvas, const std::string& path);

}  // namespace penstock
