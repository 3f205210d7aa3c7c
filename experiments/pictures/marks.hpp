#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "experiments/pictures/colour.hpp"
#include "experiments/pictures/palette.hpp"

namespace penstock {

/// A place in a picture: x to the right, y downwards.
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

// What pictures are made of. A picture is a list of marks; each format draws the list its own way.

struct FilledBoxes {
  std::vector<Rectangle> boxes;
  Colour colour;
};

/// Parallel lines inside boxes, rising to the right, `spacing` apart along a row.
struct HatchedBoxes {
  std::vector<Rectangle> boxes;
  double spacing;
  double width;
  Colour colour;
};

/// Lines around boxes, half inside them.
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

/// A filled shape with an outline around it.
struct Polygon {
  std::vector<Point> corners;
  Colour colour;
  double outline_width;
  Colour outline;
};

/// One line of text. `start` is its left end on the baseline, whatever its alignment.
struct Writing {
  Point start;
  double width;
  std::string text;
  TextStyle style;
};

using Mark = std::variant<FilledBoxes, HatchedBoxes, OutlinedBoxes, Polyline, Polygon, Writing>;

}  // namespace penstock
