#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gui/models/strips/pixels.hpp"

namespace penstock {

/// The letters of one font as masks, so that thousands of labels cost little.
struct Glyphs {
  struct Glyph {
    int width = 0;                    // of the mask and to the next letter
    std::vector<std::uint8_t> alpha;  // by row
  };
  int height = 0;
  int digits_top = 0;     // of the digits within the height
  int digits_height = 0;  // 0 without a font
  std::array<Glyph, 128> glyphs;

  int width_of(std::string_view text) const;
  /// Draws a text with its digits centred on a row; what lies outside of the picture is cut off.
  void draw(const Pixels& pixels, int left, int middle, std::string_view text, Colour colour) const;
};

}  // namespace penstock
