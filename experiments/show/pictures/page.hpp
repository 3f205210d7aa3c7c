#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "experiments/show/pictures/axis.hpp"
#include "experiments/show/pictures/canvas.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "experiments/show/pictures/picture.hpp"

namespace penstock {

// Margins, headings, text styles and axis labels for all pictures.

constexpr double page_margin = 28;
constexpr TextStyle label_style{11, ink};
constexpr TextStyle tick_style{10.5, faint_ink};

constexpr TextStyle aligned(TextStyle style, Align align) {
  style.align = align;
  return style;
}

/// Margin and inner width of a page; narrow pages have narrow margins.
double margin_of(const Page& page);
double inner_width(const Page& page);

/// Draws the title and the subtitle below it, wrapped, and returns where the picture begins. An
/// empty title or subtitle takes no room.
double draw_heading(Page& page, const std::string& title, const std::string& subtitle);

/// Draws texts below each other from `top`, wrapped at the page width; returns where they end.
double draw_notes(Page& page, double top, const std::vector<std::string>& notes);

/// The width of the widest of the texts of items.
template <class Items, class Text = std::identity>
double widest_text(Canvas& canvas, const Items& items, const TextStyle& style, Text text = {}) {
  double widest = 0;
  for (const auto& item : items) {
    widest = std::max(widest, canvas.text_width(std::invoke(text, item), style));
  }
  return widest;
}

/// Whether tick labels fit next to each other with a gap, if one unit of `Tick::at` is `per_unit`
/// wide.
bool labels_fit(Canvas& canvas, const std::vector<Tick>& ticks, double per_unit);

/// Round ticks from 0 to `end` along `length`, as many as have room for their labels.
std::vector<Tick> fitting_ticks(Canvas& canvas, double end, double length);

}  // namespace penstock
