#pragma once

#include <string>

#include "experiments/files/own_file.hpp"

class QWidget;

namespace penstock {

/// Writes what is seen as PNG, SVG or PDF, by the suffix. Throws as OutputFile does.
void export_view(QWidget& view, const std::string& path, Existing replaced);

}  // namespace penstock
