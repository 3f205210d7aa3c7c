#include "experiments/show/pictures/markers.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace penstock {

std::vector<Point> marker(std::size_t series, Point at, double scale) {
  struct Shape {
    int corners;
    double turn;  // of the first corner from the vertical, as a fraction of a circle
    double radius;
  };
  constexpr std::array<Shape, 6> shapes{
      {{32, 0, 4.4}, {4, 0.125, 5.4}, {3, 0, 6.2}, {4, 0, 5.8}, {3, 0.5, 6.2}, {5, 0, 5.2}}};
  const auto& [corners, turn, radius] = shapes[series % shapes.size()];
  std::vector<Point> points;
  for (int corner = 0; corner < corners; ++corner) {
    const double angle = 2 * std::numbers::pi * (turn + static_cast<double>(corner) / corners);
    points.push_back(
        {at.x + scale * radius * std::sin(angle), at.y - scale * radius * std::cos(angle)});
  }
  return points;
}

}  // namespace penstock
