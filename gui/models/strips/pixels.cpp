#include "gui/models/strips/pixels.hpp"

namespace penstock {
namespace {

std::uint32_t blended(std::uint32_t below, Colour colour, unsigned alpha) {
  const auto channel = [alpha](std::uint32_t a, std::uint32_t b) {
    return (a * (255 - alpha) + b * alpha + 127) / 255;
  };
  return 0xff00'0000U | channel(below >> 16 & 255, colour.red) << 16 |
         channel(below >> 8 & 255, colour.green) << 8 | channel(below & 255, colour.blue);
}

}  // namespace

int Glyphs::width_of(std::string_view text) const {
  int width = 0;
  for (const char c : text) width += glyphs[static_cast<unsigned char>(c) & 127].width;
  return width;
}

void Glyphs::draw(const Pixels& pixels, int left, int middle, std::string_view text,
                  Colour colour) const {
  const int top = middle - digits_top - digits_height / 2;
  for (const char c : text) {
    const Glyph& glyph = glyphs[static_cast<unsigned char>(c) & 127];
    for (int y = std::max(0, -top); y < height && top + y < pixels.height; ++y) {
      std::uint32_t* const row = pixels.row(top + y);
      const std::uint8_t* const alpha = glyph.alpha.data() + y * glyph.width;
      for (int x = std::max(0, -left); x < glyph.width && left + x < pixels.width; ++x) {
        if (alpha[x] != 0) row[left + x] = blended(row[left + x], colour, alpha[x]);
      }
    }
    left += glyph.width;
  }
}

}  // namespace penstock
