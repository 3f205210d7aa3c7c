#pragma once

#include <cstdint>
#include <vector>

#include "experiments/show/pictures/colour.hpp"
#include "experiments/show/pictures/marks.hpp"

namespace penstock {

/// The ground of a picture: white paper, or a dark screen.
enum class PictureTheme : std::uint8_t { light, dark };

/// A colour on dark ground: its lightness turned over, its hue kept, as pages do. White becomes
/// nearly black, and what is pale on paper is as close to the ground.
Colour on_dark(Colour colour);

/// Marks drawn for paper, with the colours of a theme.
std::vector<Mark> in_theme(std::vector<Mark> marks, PictureTheme theme);

}  // namespace penstock
