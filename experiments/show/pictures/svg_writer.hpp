#pragma once

#include <string>
#include <vector>

#include "experiments/show/pictures/marks.hpp"

namespace penstock {

/// Marks as an SVG document of `width` by `height` pixels, with all lengths multiplied by `scale`.
/// Texts stay texts: they can be selected, searched and edited.
std::string svg_of(const std::vector<Mark>& marks, double width, double height, double scale);

}  // namespace penstock
