#pragma once

#include <string>
#include <vector>

#include "experiments/pictures/axis.hpp"
#include "experiments/pictures/canvas.hpp"
#include "experiments/pictures/marks.hpp"
#include "experiments/pictures/palette.hpp"
#include "experiments/pictures/picture.hpp"

namespace penstock {

// What all pictures share: the margin, the heading, the styles of texts and the labels of axes.

constexpr double page_margin = 28;
constexpr TextStyle label_style{11, ink};
constexpr TextStyle tick_style{10.5, faint_ink};

constexpr TextStyle aligned(TextStyle style, Align align) {
  style.align = align;
  return style;
}

/// How wide a page is between its margins; narrow pages have narrow ones.
double margin_of(const Page& page);
double inner_width(const Page& page);

/// Writes the title and below it the subtitle, in as many lines as they take, and gives where the
/// picture below begins. An empty title or subtitle takes no room.
double draw_heading(Page& page, const std::string& title, const std::string& subtitle);

/// Writes texts one below the other, broken where they are wider than the page, from `top`; gives
/// where they end.
double draw_notes(Page& page, double top, const std::vector<std::string>& notes);

/// Whether the labels of ticks stand side by side with a gap, where one unit of `Tick::at` is
/// `per_unit` wide.
bool labels_fit(Canvas& canvas, const std::vector<Tick>& ticks, double per_unit);

/// Round ticks from 0 to `end` along `length`, as many as have room for their labels side by side.
std::vector<Tick> fitting_ticks(Canvas& canvas, double end, double length);

}  // namespace penstock
