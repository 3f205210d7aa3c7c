// Declared as in Cairo, whose header only the sources include.
struct _cairo;  // NOLINT(bugprone-reserved-identifier)
using cairo_t = _cairo;

#pragma once

#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"

namespace penstock {

/// Disables font hinting, so that a text has the same shape and width in every format and scale.
void set_plain_fonts(cairo_t* context);

void set_font(cairo_t* context, const TextStyle& style);

/// Draws marks in order. Throws std::runtime_error with Cairo's message.
void draw_marks(cairo_t* context, const std::vector<Mark>& marks);

/// Marks as an SVG document of `width` by `height` pixels, with all lengths multiplied by `scale`.
/// Texts stay texts: they can be selected, searched and edited.
std::string svg_of(const std::vector<Mark>& marks, double width, double height, double scale);

}  // namespace penstock
