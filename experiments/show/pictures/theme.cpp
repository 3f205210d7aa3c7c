#include "experiments/show/pictures/theme.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace penstock {
namespace {

/// Replaces the colours of a mark.
struct Darkening {
  void operator()(FilledBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(HatchedBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(OutlinedBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(Polyline& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(Polygon& mark) const {
    mark.colour = on_dark(mark.colour);
    mark.outline = on_dark(mark.outline);
  }
  void operator()(Writing& mark) const { mark.style.colour = on_dark(mark.style.colour); }
};

std::uint8_t channel_of(double share) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

Colour on_dark(Colour colour) {
  // invert(0.91) and hue-rotate(180deg) of CSS.
  const auto inverted = [](std::uint8_t channel) { return 0.91 - 0.82 * channel / 255.0; };
  const double r = inverted(colour.red), g = inverted(colour.green), b = inverted(colour.blue);
  return {channel_of(-0.574 * r + 1.430 * g + 0.144 * b),
          channel_of(0.426 * r + 0.430 * g + 0.144 * b),
          channel_of(0.426 * r + 1.430 * g - 0.856 * b)};
}

std::vector<Mark> in_theme(std::vector<Mark> marks, PictureTheme theme) {
  if (theme == PictureTheme::light) return marks;
  for (Mark& mark : marks) std::visit(Darkening{}, mark);
  return marks;
}

}  // namespace penstock
