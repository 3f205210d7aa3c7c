#include "experiments/show/pictures/canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

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

/// Draws marks one by one.
class CairoPen {
 public:
  explicit CairoPen(cairo_t* context) : context_(context) {}

  void operator()(const FilledBoxes& mark) const {
    set_colour(mark.colour);
    add_boxes(mark.boxes);
    cairo().fill(context_);
  }

  void operator()(const HatchedBoxes& mark) const {
    cairo().save(context_);
    add_boxes(mark.boxes);
    cairo().clip(context_);
    double left = 0, top = 0, right = 0, bottom = 0;
    cairo().clip_extents(context_, &left, &top, &right, &bottom);
    const double rise = bottom - top;
    if (has(mark.hatch, Hatch::rising)) add_slants(mark, left, right, bottom, -rise);
    if (has(mark.hatch, Hatch::falling)) add_slants(mark, left, right, top, rise);
    for (double x = left + mark.spacing / 2; x < right; x += mark.spacing) {
      if (has(mark.hatch, Hatch::upright)) add_line({x, top}, {x, bottom});
      for (double y = top + mark.spacing / 2; y < bottom; y += mark.spacing) {
        if (has(mark.hatch, Hatch::dotted)) add_line({x - mark.width, y}, {x + mark.width, y});
      }
    }
    for (double y = top + mark.spacing / 2; y < bottom; y += mark.spacing) {
      if (has(mark.hatch, Hatch::level)) add_line({left, y}, {right, y});
    }
    set_colour(mark.colour);
    cairo().set_line_width(context_, mark.width);
    cairo().stroke(context_);
    cairo().restore(context_);
  }

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
    set_font(context_, mark.style.size, mark.style.bold);
    set_colour(mark.style.colour);
    cairo().save(context_);
    cairo().move_to(context_, mark.start.x, mark.start.y);
    if (mark.style.upward) cairo().rotate(context_, -std::numbers::pi / 2);
    cairo().show_text(context_, mark.text.c_str());
    cairo().restore(context_);
  }

 private:
  void add_line(Point from, Point to) const {
    cairo().move_to(context_, from.x, from.y);
    cairo().line_to(context_, to.x, to.y);
  }
  /// Slanted lines over a box, from `y` on, that rise or fall by its height.
  void add_slants(const HatchedBoxes& mark, double left, double right, double y,
                  double down) const {
    const double wide = std::abs(down);
    for (double x = left - wide; x <= right; x += mark.spacing) {
      add_line({x, y}, {x + wide, y + down});
    }
  }
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

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

/// A text escaped for XML. Control characters, invalid in XML, become blanks.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else {
      safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return safe;
}

/// Writes marks one by one.
class SvgPen {
 public:
  explicit SvgPen(double scale) : scale_(scale) {}

  void operator()(const FilledBoxes& mark) {
    add(R"(<path fill="{}" d=")", hex(mark.colour));
    add_boxes(mark.boxes);
    text_ += "\"/>\n";
  }
  void operator()(const HatchedBoxes& mark) {
    add(R"x(<path fill="url(#{})" d=")x", pattern(mark));
    add_boxes(mark.boxes);
    text_ += "\"/>\n";
  }
  void operator()(const OutlinedBoxes& mark) {
    add_stroke(mark.colour, mark.width);
    add_boxes(mark.boxes);
    text_ += "\"/>\n";
  }
  void operator()(const Polyline& mark) {
    add_stroke(mark.colour, mark.width);
    add_path(mark.points);
    text_ += "\"/>\n";
  }
  void operator()(const Polygon& mark) {
    add(R"(<path fill="{}" stroke="{}" stroke-width="{}" paint-order="stroke" d=")",
        hex(mark.colour), hex(mark.outline), length(2 * mark.outline_width));
    add_path(mark.corners);
    text_ += "z\"/>\n";
  }

  void operator()(const Writing& mark) {
    const auto& [size, colour, align, bold, upward] = mark.style;
    const double share = align == Align::left ? 0 : align == Align::centre ? 0.5 : 1;
    const char* const anchor = align == Align::left     ? ""
                               : align == Align::centre ? R"( text-anchor="middle")"
                                                        : R"( text-anchor="end")";
    const double x = length(mark.start.x + (upward ? 0 : share * mark.width));
    const double y = length(mark.start.y - (upward ? share * mark.width : 0));
    const std::string turn =
        upward ? fmt::format(R"svg( transform="rotate(-90 {} {})")svg", x, y) : "";
    add(R"(<text x="{}" y="{}" font-size="{}" fill="{}"{}{}{}>{}</text>)", x, y, length(size),
        hex(colour), anchor, bold ? R"( font-weight="bold")" : "", turn, escaped(mark.text));
    text_ += '\n';
  }

  const std::string& text() const { return text_; }
  const std::string& patterns() const { return patterns_; }

 private:
  /// A length in the picture, with at most three decimals.
  double length(double value) const { return std::round(value * scale_ * 1000) / 1000 + 0.0; }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  void add_stroke(Colour colour, double width) {
    add(R"(<path fill="none" stroke="{}" stroke-width="{}" d=")", hex(colour), length(width));
  }
  void add_boxes(const std::vector<Rectangle>& boxes) {
    for (const auto& [x, y, w, h] : boxes) {
      add("M{} {}h{}v{}h{}z", length(x), length(y), length(w), length(h), length(-w));
    }
  }
  void add_path(const std::vector<Point>& points) {
    char command = 'M';
    for (const Point& point : points) {
      add("{}{} {}", command, length(point.x), length(point.y));
      command = 'L';
    }
  }

  /// The name of a hatch pattern. It depends only on the pattern, so several pictures in one page
  /// can share it.
  std::string pattern(const HatchedBoxes& mark) {
    const double s = length(mark.spacing);
    const double width = length(mark.width);
    const std::string name = fmt::format("hatch-{}-{}-{}-{}", s, width, hex(mark.colour).substr(1),
                                         static_cast<unsigned>(mark.hatch));
    if (!defined_.insert(name).second) return name;
    fmt::format_to(std::back_inserter(patterns_),
                   R"(<pattern id="{}" width="{}" height="{}" patternUnits="userSpaceOnUse">)"
                   R"(<path fill="none" stroke="{}" stroke-width="{}" d="{}"/></pattern>)"
                   "\n",
                   name, s, s, hex(mark.colour), width, tile(mark.hatch, s, width));
    return name;
  }
  /// The corners of a tile contain parts of the slanted lines of its neighbours.
  static std::string tile(Hatch hatch, double s, double width) {
    std::string lines;
    const auto line = [&](double x, double y, double right, double bottom) {
      fmt::format_to(std::back_inserter(lines), "M{} {}L{} {}", x, y, right, bottom);
    };
    if (has(hatch, Hatch::rising)) line(0, s, s, 0), line(-s, s, s, -s), line(0, 2 * s, 2 * s, 0);
    if (has(hatch, Hatch::falling)) line(0, 0, s, s), line(-s, 0, s, 2 * s), line(0, -s, 2 * s, s);
    if (has(hatch, Hatch::level)) line(0, s / 2, s, s / 2);
    if (has(hatch, Hatch::upright)) line(s / 2, 0, s / 2, s);
    if (has(hatch, Hatch::dotted)) line(s / 2 - width, s / 2, s / 2 + width, s / 2);
    return lines;
  }

  double scale_;
  std::string text_;
  std::string patterns_;
  std::set<std::string> defined_;
};

}  // namespace

void Canvas::Destroy::operator()(cairo_t* context) const { cairo().destroy(context); }

Canvas::Canvas() : ruler_(make_ruler()) {
  check_cairo(cairo().status(ruler_.get()), "opening a picture");
}

void Canvas::fill(const Rectangle& rectangle, Colour colour) { fill({&rectangle, 1}, colour); }

void Canvas::fill(std::span<const Rectangle> rectangles, Colour colour) {
  if (!rectangles.empty()) {
    marks_.emplace_back(FilledBoxes{{rectangles.begin(), rectangles.end()}, colour});
  }
}

void Canvas::hatch(std::span<const Rectangle> rectangles, double spacing, double width,
                   Colour colour, Hatch hatch) {
  if (!rectangles.empty()) {
    marks_.emplace_back(
        HatchedBoxes{{rectangles.begin(), rectangles.end()}, spacing, width, colour, hatch});
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
  check_cairo(cairo().status(ruler_.get()), "measuring a text");
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  if (text.empty()) return;
  const double width = text_width(text, style);
  const double share = style.align == Align::left ? 0 : style.align == Align::centre ? 0.5 : 1;
  cairo_text_extents_t digit;
  cairo().text_extents(ruler_.get(), "0", &digit);
  const double below = -digit.y_bearing / 2;  // the baseline, of the middle of digits
  const Point start = style.upward ? Point{at.x + below, at.y + share * width}
                                   : Point{at.x - share * width, at.y + below};
  marks_.emplace_back(Writing{start, width, valid_text(text), style});
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

void draw_marks(cairo_t* context, const std::vector<Mark>& marks) {
  set_plain_fonts(context);
  cairo().set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  for (const Mark& mark : marks) std::visit(CairoPen(context), mark);
  check_cairo(cairo().status(context), "drawing a picture");
}

std::string svg_of(const std::vector<Mark>& marks, double width, double height, double scale) {
  SvgPen pen(scale);
  for (const Mark& mark : marks) std::visit(pen, mark);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}px\" height=\"{1}px\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" stroke-linejoin=\"round\">\n"
      "{2}{3}{4}{5}</svg>\n",
      width, height, pen.patterns().empty() ? "" : "<defs>\n", pen.patterns(),
      pen.patterns().empty() ? "" : "</defs>\n", pen.text());
}

}  // namespace penstock
