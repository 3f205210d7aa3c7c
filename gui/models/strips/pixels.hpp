#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/palette.hpp"

// For loops over whole rows: compiled once more for wider vectors, which are taken where the
// processor has them. Results are the same. Sanitizers cannot choose that early.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PENSTOCK_WIDE_VECTORS [[gnu::target_clones("avx2", "default")]]
#else
#define PENSTOCK_WIDE_VECTORS
#endif

namespace penstock {

/// 0xffRRGGBB.
constexpr std::uint32_t packed(Colour colour) {
  return 0xff00'0000U | static_cast<std::uint32_t>(colour.red) << 16 |
         static_cast<std::uint32_t>(colour.green) << 8 | colour.blue;
}

/// A picture in memory that someone else owns, row by row.
struct Pixels {
  std::uint32_t* first = nullptr;
  int width = 0;
  int height = 0;
  std::size_t stride = 0;  // pixels from one row to the next

  std::uint32_t* row(int y) const { return first + static_cast<std::size_t>(y) * stride; }
  /// The part of the box that lies within the picture; ends are not part of it.
  void fill(int left, int top, int right, int bottom, std::uint32_t colour) const {
    left = std::max(left, 0);
    right = std::min(right, width);
    if (right <= left) return;
    for (int y = std::max(top, 0); y < std::min(bottom, height); ++y) {
      std::fill(row(y) + left, row(y) + right, colour);
    }
  }
};

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
