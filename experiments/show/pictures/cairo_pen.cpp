#include "experiments/show/pictures/cairo_pen.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "experiments/show/pictures/cairo.hpp"

namespace penstock {
namespace {

/// Draws marks one by one.
class CairoPen {
 public:
  explicit CairoPen(cairo_t* context) : context_(context) {}

  void operator()(const FilledBoxes& mark) const {
    set_colour(mark.colour);
    add_boxes(mark.boxes);
    cairo().fill(context_);
  }
  void operator()(const HatchedBoxes& mark) const;
  void operator()(const OutlinedBoxes& mark) const {
    set_colour(mark.colour);
    add_boxes(mark.boxes);
    cairo().set_line_width(context_, mark.width);
    cairo().stroke(context_);
  }
  void operator()(const Polyline& mark) const {
    set_colour(mark.colour);
    add_path(mark.points);
    cairo().set_line_width(context_, mark.width);
    cairo().stroke(context_);
  }
  void operator()(const Polygon& mark) const {
    add_path(mark.corners);
    cairo().close_path(context_);
    set_colour(mark.outline);
    cairo().set_line_width(context_, 2 * mark.outline_width);  // the fill covers the inner half
    cairo().stroke_preserve(context_);
    set_colour(mark.colour);
    cairo().fill(context_);
  }
  void operator()(const Writing& mark) const {
    set_font(context_, mark.style);
    set_colour(mark.style.colour);
    cairo().move_to(context_, mark.start.x, mark.start.y);
    cairo().show_text(context_, mark.text.c_str());
  }

 private:
  void set_colour(Colour colour) const {
    cairo().set_source_rgb(context_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
  }
  void add_boxes(const std::vector<Rectangle>& boxes) const {
    for (const auto& [x, y, w, h] : boxes) cairo().rectangle(context_, x, y, w, h);
  }
  void add_path(const std::vector<Point>& points) const {
    cairo().new_path(context_);
    for (const Point& point : points) cairo().line_to(context_, point.x, point.y);
  }

  cairo_t* context_;
};

void CairoPen::operator()(const HatchedBoxes& mark) const {
  cairo().save(context_);
  add_boxes(mark.boxes);
  cairo().clip(context_);
  double left = 0, top = 0, right = 0, bottom = 0;
  cairo().clip_extents(context_, &left, &top, &right, &bottom);
  const double rise = bottom - top;
  const int lines = static_cast<int>((right - left + rise) / mark.spacing);
  for (int i = 0; i <= lines; ++i) {
    const double x = left - rise + i * mark.spacing;
    cairo().move_to(context_, x, bottom);
    cairo().line_to(context_, x + rise, top);
  }
  set_colour(mark.colour);
  cairo().set_line_width(context_, mark.width);
  cairo().stroke(context_);
  cairo().restore(context_);
}

}  // namespace

void set_plain_fonts(cairo_t* context) {
  cairo_font_options_t* options = cairo().font_options_create();
  cairo().font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo().font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo().font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo().set_font_options(context, options);
  cairo().font_options_destroy(options);
}

void set_font(cairo_t* context, const TextStyle& style) {
  cairo().select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo().set_font_size(context, style.size);
}

void draw_marks(cairo_t* context, const std::vector<Mark>& marks) {
  set_plain_fonts(context);
  cairo().set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  for (const Mark& mark : marks) std::visit(CairoPen(context), mark);
  const cairo_status_t status = cairo().status(context);
  if (status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(
        fmt::format("drawing a picture failed: {}", cairo().status_to_string(status)));
  }
}

}  // namespace penstock
