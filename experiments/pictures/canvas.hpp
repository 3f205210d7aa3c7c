#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "experiments/pictures/colour.hpp"
#include "experiments/pictures/palette.hpp"

// As Cairo declares it, whose header only the sources include.
struct _cairo;  // NOLINT(bugprone-reserved-identifier)
using cairo_t = _cairo;

namespace penstock {

/// A place in a picture: x to the right, y downwards, in units of 1/96 inch (a PDF: 1/72).
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
};

/// Something to draw on: the few strokes that the pictures are made of, on Cairo. Everything throws
/// std::runtime_error with Cairo's words when Cairo fails.
class Canvas {
 public:
  /// Takes over `context` and ends its use of it with the canvas.
  explicit Canvas(cairo_t* context);

  void fill(const Rectangle& rectangle, Colour colour);
  /// Many of one colour: far smaller in a file than one by one.
  void fill(std::span<const Rectangle> rectangles, Colour colour);
  /// Parallel lines, rising to the right, inside the rectangles.
  void hatch(std::span<const Rectangle> rectangles, double spacing, double width, Colour colour);

  /// Lines around rectangles, half inside them.
  void outline(std::span<const Rectangle> rectangles, double width, Colour colour);

  void line(Point from, Point to, double width, Colour colour);
  void line(std::span<const Point> points, double width, Colour colour);
  /// A filled shape with an outline around it.
  void polygon(std::span<const Point> corners, Colour colour, double outline_width, Colour outline);

  /// How far a text goes on from its start.
  double text_width(const std::string& text, const TextStyle& style);
  /// One line of text: `at` is where it starts, its middle or its end, half-way up its digits.
  void text(Point at, const std::string& text, const TextStyle& style);
  /// The same, in a smaller size when it would be wider than `width`.
  void text_within(double width, Point at, const std::string& text, TextStyle style);

 private:
  struct Destroy {
    void operator()(cairo_t* context) const;
  };

  void set_colour(Colour colour);
  void set_font(const TextStyle& style);
  void add_path(std::span<const Point> points);
  void check(const char* doing) const;

  std::unique_ptr<cairo_t, Destroy> context_;
};

}  // namespace penstock
