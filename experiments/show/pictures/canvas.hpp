#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "experiments/show/pictures/palette.hpp"

// Declared as in Cairo, whose header only the sources include.
struct _cairo;  // NOLINT(bugprone-reserved-identifier)
using cairo_t = _cairo;

namespace penstock {

/// A point in a picture: x to the right, y down.
struct Point {
  double x;
  double y;
};

struct Rectangle {
  double x;
  double y;
  double width;
  double height;
};

enum class Align : std::uint8_t { left, centre, right };

struct TextStyle {
  double size = 11;
  Colour colour = ink;
  Align align = Align::left;
  bool bold = false;
  bool upward = false;  // turned: reads from the bottom up
};

// A picture is a list of marks. Each format draws the list in its own way.

struct FilledBoxes {
  std::vector<Rectangle> boxes;
  Colour colour;
};

/// Parallel lines inside boxes, `spacing` apart along an axis.
struct HatchedBoxes {
  std::vector<Rectangle> boxes;
  double spacing;
  double width;
  Colour colour;
  Hatch hatch;
};

/// Outlines of boxes, half of their width inside.
struct OutlinedBoxes {
  std::vector<Rectangle> boxes;
  double width;
  Colour colour;
};

struct Polyline {
  std::vector<Point> points;
  double width;
  Colour colour;
};

/// A filled polygon with an outline.
struct Polygon {
  std::vector<Point> corners;
  Colour colour;
  double outline_width;
  Colour outline;
};

/// One line of text. `start` is where it begins on the baseline, for any alignment.
struct Writing {
  Point start;
  double width;
  std::string text;
  TextStyle style;
};

using Mark = std::variant<FilledBoxes, HatchedBoxes, OutlinedBoxes, Polyline, Polygon, Writing>;

/// Collects the marks of a picture and measures its texts with Cairo. Throws std::runtime_error
/// with Cairo's message.
class Canvas {
 public:
  Canvas();

  void fill(const Rectangle& rectangle, Colour colour);
  /// Many boxes of one colour take far less room in a file than single ones.
  void fill(std::span<const Rectangle> rectangles, Colour colour);
  void hatch(std::span<const Rectangle> rectangles, double spacing, double width, Colour colour,
             Hatch hatch = Hatch::rising);
  void outline(std::span<const Rectangle> rectangles, double width, Colour colour);
  void line(Point from, Point to, double width, Colour colour);
  void line(std::span<const Point> points, double width, Colour colour);
  void polygon(std::span<const Point> corners, Colour colour, double outline_width, Colour outline);

  /// The advance width of a text.
  double text_width(const std::string& text, const TextStyle& style);
  /// Adds one line of text. `at` is its start, middle or end, centred on the height of its digits.
  void text(Point at, const std::string& text, const TextStyle& style);
  /// The same, in a smaller size if wider than `width`.
  void text_within(double width, Point at, const std::string& text, TextStyle style);
  /// The lines of a text, wrapped at blanks to `width`; a longer word has its own line.
  std::vector<std::string> wrapped(const std::string& text, double width, const TextStyle& style);

  const std::vector<Mark>& marks() const { return marks_; }

 private:
  struct Destroy {
    void operator()(cairo_t* context) const;
  };

  std::unique_ptr<cairo_t, Destroy> ruler_;  // only measures
  std::vector<Mark> marks_;
};

/// Draws marks in order. Throws std::runtime_error with Cairo's message.
void draw_marks(cairo_t* context, const std::vector<Mark>& marks);

/// Marks as an SVG document of `width` by `height` pixels, with all lengths multiplied by `scale`.
/// Texts stay texts: they can be selected, searched and edited.
std::string svg_of(const std::vector<Mark>& marks, double width, double height, double scale);

}  // namespace penstock
