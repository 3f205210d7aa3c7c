#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/strips/strip_lines.hpp"

namespace penstock {

/// The letters of one font as masks, so that thousands of labels cost little. Texts are UTF-8.
struct Glyphs {
  struct Glyph {
    int width = 0;                    // of the mask and to the next letter
    std::vector<std::uint8_t> alpha;  // by row
  };
  int height = 0;
  int digits_top = 0;     // of the digits within the height
  int digits_height = 0;  // 0 without a font
  std::array<Glyph, 128> glyphs;
  std::unordered_map<char32_t, Glyph> others;  // beyond ASCII, as far as names have them

  /// That of a question mark where there is none.
  const Glyph& of(char32_t letter) const;
  int width_of(std::string_view text) const;
  /// The bytes of those letters of a text that fit into a width.
  std::size_t fitting(std::string_view text, int width) const;
  /// Draws a text with its digits centred on a row; what lies outside of the picture is cut off.
  void draw(const Pixels& pixels, int left, int middle, std::string_view text, Colour colour) const;
};

/// Removes and returns the first letter of a text that is valid and not empty.
char32_t take_letter(std::string_view& text);
/// The letters of names beyond ASCII, each once, in ascending order.
std::u32string letters_beyond_ascii(const std::vector<std::string>& names);

}  // namespace penstock
