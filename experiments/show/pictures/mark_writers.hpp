#pragma once

#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"

namespace penstock {

/// Draws marks in order. Throws std::runtime_error with Cairo's message.
void draw_marks(cairo_t* context, const std::vector<Mark>& marks);

/// Marks as an SVG document of `width` by `height` pixels, with all lengths multiplied by `scale`.
/// Texts stay texts: they can be selected, searched and edited.
std::string svg_of(const std::vector<Mark>& marks, double width, double height, double scale);

}  // namespace penstock
