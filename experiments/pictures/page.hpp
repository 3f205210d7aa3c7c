#pragma once

#include <string>

#include "experiments/pictures/canvas.hpp"

namespace penstock {

// What all pictures share: the margin, the heading and the styles of texts.

constexpr double page_margin = 28;
constexpr TextStyle label_style{11, ink};
constexpr TextStyle tick_style{10.5, faint_ink};

constexpr TextStyle aligned(TextStyle style, Align align) {
  style.align = align;
  return style;
}

/// Where the picture below its heading begins; an empty title or subtitle takes no room.
double heading_bottom(const std::string& title, const std::string& subtitle);

/// Writes the title and below it the subtitle, no wider than a page of `width`.
void draw_heading(Canvas& canvas, double width, const std::string& title,
                  const std::string& subtitle);

}  // namespace penstock
