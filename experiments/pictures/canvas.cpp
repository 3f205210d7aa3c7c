#include "experiments/pictures/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "experiments/pictures/cairo.hpp"

namespace penstock {
namespace {

/// Without hints a text has the same shape and width in every format and at every scale.
void set_plain_fonts(cairo_t* context) {
  cairo_font_options_t* options = cairo().font_options_create();
  cairo().font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo().font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo().font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo().set_font_options(context, options);
  cairo().font_options_destroy(options);
}

}  // namespace

void Canvas::Destroy::operator()(cairo_t* context) const { cairo().destroy(context); }

Canvas::Canvas(cairo_t* context) : context_(context) {
  set_plain_fonts(context);
  cairo().set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  check("opening a picture");
}

void Canvas::fill(const Rectangle& rectangle, Colour colour) { fill({&rectangle, 1}, colour); }

void Canvas::fill(std::span<const Rectangle> rectangles, Colour colour) {
  set_colour(colour);
  for (const auto& [x, y, width, height] : rectangles) {
    cairo().rectangle(context_.get(), x, y, width, height);
  }
  cairo().fill(context_.get());
  check("filling rectangles");
}

void Canvas::hatch(std::span<const Rectangle> rectangles, double spacing, double width,
                   Colour colour) {
  cairo_t* const context = context_.get();
  cairo().save(context);
  for (const auto& [x, y, w, h] : rectangles) cairo().rectangle(context, x, y, w, h);
  cairo().clip(context);
  double left = 0, top = 0, right = 0, bottom = 0;
  cairo().clip_extents(context, &left, &top, &right, &bottom);
  const double rise = bottom - top;
  const int lines = static_cast<int>((right - left + rise) / spacing);
  for (int i = 0; i <= lines; ++i) {
    const double x = left - rise + i * spacing;
    cairo().move_to(context, x, bottom);
    cairo().line_to(context, x + rise, top);
  }
  set_colour(colour);
  cairo().set_line_width(context, width);
  cairo().stroke(context);
  cairo().restore(context);
  check("hatching");
}

void Canvas::outline(std::span<const Rectangle> rectangles, double width, Colour colour) {
  set_colour(colour);
  for (const auto& [x, y, w, h] : rectangles) cairo().rectangle(context_.get(), x, y, w, h);
  cairo().set_line_width(context_.get(), width);
  cairo().stroke(context_.get());
  check("outlining rectangles");
}

void Canvas::line(Point from, Point to, double width, Colour colour) {
  line(std::array{from, to}, width, colour);
}

void Canvas::line(std::span<const Point> points, double width, Colour colour) {
  set_colour(colour);
  add_path(points);
  cairo().set_line_width(context_.get(), width);
  cairo().stroke(context_.get());
  check("drawing a line");
}

void Canvas::polygon(std::span<const Point> corners, Colour colour, double outline_width,
                     Colour outline) {
  add_path(corners);
  cairo().close_path(context_.get());
  set_colour(outline);
  cairo().set_line_width(context_.get(), 2 * outline_width);  // its inner half is painted over
  cairo().stroke_preserve(context_.get());
  set_colour(colour);
  cairo().fill(context_.get());
  check("drawing a polygon");
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  set_font(style);
  cairo_text_extents_t extents;
  cairo().text_extents(context_.get(), text.c_str(), &extents);
  check("measuring a text");
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  const double width = style.align == Align::left ? 0 : text_width(text, style);
  const double start = at.x - (style.align == Align::centre ? width / 2 : width);
  set_font(style);
  cairo_text_extents_t digit;
  cairo().text_extents(context_.get(), "0", &digit);
  set_colour(style.colour);
  cairo().move_to(context_.get(), start, at.y - digit.y_bearing / 2);
  cairo().show_text(context_.get(), text.c_str());
  check("writing a text");
}

void Canvas::text_within(double width, Point at, const std::string& text, TextStyle style) {
  if (const double needed = text_width(text, style); needed > width) {
    style.size *= std::max(width, 0.0) / needed;
  }
  this->text(at, text, style);
}

void Canvas::set_colour(Colour colour) {
  cairo().set_source_rgb(context_.get(), colour.red / 255.0, colour.green / 255.0,
                         colour.blue / 255.0);
}

void Canvas::set_font(const TextStyle& style) {
  cairo().select_font_face(context_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo().set_font_size(context_.get(), style.size);
}

void Canvas::add_path(std::span<const Point> points) {
  cairo().new_path(context_.get());
  for (const Point& point : points) cairo().line_to(context_.get(), point.x, point.y);
}

void Canvas::check(const char* doing) const {
  const cairo_status_t status = cairo().status(context_.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(fmt::format("{} failed: {}", doing, cairo().status_to_string(status)));
  }
}

}  // namespace penstock
