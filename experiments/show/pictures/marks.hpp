#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "experiments/show/pictures/colour.hpp"
#include "experiments/show/pictures/palette.hpp"

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
};

// A picture is a list of marks. Each format draws the list in its own way.

struct FilledBoxes {
  std::vector<Rectangle> boxes;
  Colour colour;
};

/// Parallel lines inside boxes, rising to the right, `spacing` apart horizontally.
struct HatchedBoxes {
  std::vector<Rectangle> boxes;
  double spacing;
  double width;
  Colour colour;
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

/// One line of text. `start` is its left end on the baseline, for any alignment.
struct Writing {
  Point start;
  double width;
  std::string text;
  TextStyle style;
};

using Mark = std::variant<FilledBoxes, HatchedBoxes, OutlinedBoxes, Polyline, Polygon, Writing>;

}  // namespace penstock
