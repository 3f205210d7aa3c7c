#include "experiments/show/pictures/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/show/pictures/cairo.hpp"

namespace penstock {
namespace {

cairo_t* make_ruler() {
  cairo_surface_t* surface = cairo().image_surface_create(CAIRO_FORMAT_A8, 1, 1);
  cairo_t* const context = cairo().create(surface);
  cairo().surface_destroy(surface);  // the context keeps a reference
  set_plain_fonts(context);
  return context;
}

}  // namespace

void Canvas::Destroy::operator()(cairo_t* context) const { cairo().destroy(context); }

Canvas::Canvas() : ruler_(make_ruler()) { check("opening a picture"); }

void Canvas::fill(const Rectangle& rectangle, Colour colour) { fill({&rectangle, 1}, colour); }

void Canvas::fill(std::span<const Rectangle> rectangles, Colour colour) {
  if (!rectangles.empty()) {
    marks_.emplace_back(FilledBoxes{{rectangles.begin(), rectangles.end()}, colour});
  }
}

void Canvas::hatch(std::span<const Rectangle> rectangles, double spacing, double width,
                   Colour colour) {
  if (!rectangles.empty()) {
    marks_.emplace_back(
        HatchedBoxes{{rectangles.begin(), rectangles.end()}, spacing, width, colour});
  }
}

void Canvas::outline(std::span<const Rectangle> rectangles, double width, Colour colour) {
  if (!rectangles.empty()) {
    marks_.emplace_back(OutlinedBoxes{{rectangles.begin(), rectangles.end()}, width, colour});
  }
}

void Canvas::line(Point from, Point to, double width, Colour colour) {
  line(std::array{from, to}, width, colour);
}

void Canvas::line(std::span<const Point> points, double width, Colour colour) {
  if (points.size() > 1) {
    marks_.emplace_back(Polyline{{points.begin(), points.end()}, width, colour});
  }
}

void Canvas::polygon(std::span<const Point> corners, Colour colour, double outline_width,
                     Colour outline) {
  marks_.emplace_back(Polygon{{corners.begin(), corners.end()}, colour, outline_width, outline});
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  set_font(ruler_.get(), style.size, style.bold);
  cairo_text_extents_t extents;
  cairo().text_extents(ruler_.get(), valid_text(text).c_str(), &extents);
  check("measuring a text");
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  if (text.empty()) return;
  const double width = text_width(text, style);
  const double share = style.align == Align::left ? 0 : style.align == Align::centre ? 0.5 : 1;
  cairo_text_extents_t digit;
  cairo().text_extents(ruler_.get(), "0", &digit);
  marks_.emplace_back(
      Writing{{at.x - share * width, at.y - digit.y_bearing / 2}, width, valid_text(text), style});
}

void Canvas::text_within(double width, Point at, const std::string& text, TextStyle style) {
  if (const double needed = text_width(text, style); needed > width) {
    style.size *= std::max(width, 0.0) / needed;
  }
  this->text(at, text, style);
}

std::vector<std::string> Canvas::wrapped(const std::string& text, double width,
                                         const TextStyle& style) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string longer = lines.empty() ? word : lines.back() + " " + word;
    if (lines.empty() || text_width(longer, style) > width) {
      lines.push_back(word);
    } else {
      lines.back() = longer;
    }
  }
  return lines;
}

void Canvas::check(const char* doing) const {
  const cairo_status_t status = cairo().status(ruler_.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(fmt::format("{} failed: {}", doing, cairo().status_to_string(status)));
  }
}

}  // namespace penstock
