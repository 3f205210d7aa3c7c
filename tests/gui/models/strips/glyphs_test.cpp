#include "gui/models/strips/glyphs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {
namespace {

/// ASCII is 5 wide, an accented e 7, a Chinese letter 10; one row of pixels.
Glyphs glyphs() {
  Glyphs all{.height = 1, .digits_height = 1};
  for (Glyphs::Glyph& glyph : all.glyphs) glyph = {5, std::vector<std::uint8_t>(5, 0)};
  all.others[U'\u00e9'] = {7, std::vector<std::uint8_t>(7, 255)};
  all.others[U'\u524d'] = {10, std::vector<std::uint8_t>(10, 0)};
  return all;
}

TEST_CASE("glyphs: a text is as wide as its letters, however many bytes they have") {
  CHECK(glyphs().width_of("a\u00e9\u524d") == 5 + 7 + 10);
  CHECK(glyphs().width_of("\U0001f680") == 5);  // a question mark, since there is none
}

TEST_CASE("glyphs: a text is cut between letters") {
  CHECK(glyphs().fitting("\u524d\u524d\u524d", 29) == 6);
  CHECK(glyphs().fitting("\u00e9\u00e9", 6) == 0);
  CHECK(glyphs().fitting("ab\u00e9", 17) == 4);
  CHECK(glyphs().fitting("ab\u00e9", 16) == 2);
  CHECK(glyphs().fitting("", 16) == 0);
}

TEST_CASE("glyphs: a letter is drawn once, behind those before it") {
  std::array<std::uint32_t, 20> row{};
  glyphs().draw({row.data(), 20, 1, 20}, 0, 0, "a\u00e9a", Colour{1, 2, 3});
  for (std::size_t x = 0; x < row.size(); ++x) {
    CAPTURE(x);
    CHECK(row[x] == (x >= 5 && x < 12 ? packed(Colour{1, 2, 3}) : 0));
  }
}

TEST_CASE("glyphs: the letters of names beyond ASCII, each once") {
  CHECK(letters_beyond_ascii({"a\u524d\u00e9", "\u00e9\U0001f680 <b>"}) ==
        U"\u00e9\u524d\U0001f680");
  CHECK(letters_beyond_ascii({"plain"}).empty());
}

}  // namespace
}  // namespace penstock
