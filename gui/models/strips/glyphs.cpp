#include "gui/models/strips/glyphs.hpp"

#include <algorithm>
#include <set>

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

char32_t take_letter(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t letter = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) letter = letter << 6 | (c & 0x3F);
  text.remove_prefix(std::min(bytes, text.size()));
  return letter;
}

std::u32string letters_beyond_ascii(const std::vector<std::string>& names) {
  std::set<char32_t> letters;
  for (std::string_view name : names) {
    while (!name.empty()) {
      const char32_t letter = take_letter(name);
      if (letter >= 128) letters.insert(letter);
    }
  }
  return {letters.begin(), letters.end()};
}

const Glyphs::Glyph& Glyphs::of(char32_t letter) const {
  if (letter < glyphs.size()) return glyphs[letter];
  const auto found = others.find(letter);
  return found == others.end() ? glyphs['?'] : found->second;
}

int Glyphs::width_of(std::string_view text) const {
  int width = 0;
  while (!text.empty()) width += of(take_letter(text)).width;
  return width;
}

std::size_t Glyphs::fitting(std::string_view text, int width) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view next = rest;
    width -= of(take_letter(next)).width;
    if (width < 0) break;
    rest = next;
  }
  return text.size() - rest.size();
}

void Glyphs::draw(const Pixels& pixels, int left, int middle, std::string_view text,
                  Colour colour) const {
  const int top = middle - digits_top - digits_height / 2;
  while (!text.empty()) {
    const Glyph& glyph = of(take_letter(text));
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
