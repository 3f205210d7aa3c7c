#include "experiments/show/pictures/picture.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// CRC-32 as PNG has it, bit by bit.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~sum;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

TEST_CASE("pictures of all formats say that they may be overwritten") {
  const Scratch scratch;
  for (const PictureFormat format : {PictureFormat::svg, PictureFormat::png, PictureFormat::pdf}) {
    CHECK(is_own_file(scratch.file("f", render(format, open_page({.height = 300}, 300)))));
  }
}

TEST_CASE("a text that is no UTF-8 is drawn with replacements, in every format") {
  for (const PictureFormat format : {PictureFormat::svg, PictureFormat::png, PictureFormat::pdf}) {
    Page page = open_page({.height = 300}, 300);
    page.canvas.text({20, 20}, "a\xff title", {});
    CHECK_FALSE(render(format, page).empty());
  }
}

TEST_CASE("the mark of a PNG is a chunk as the others are") {
  const std::string png = render(PictureFormat::png, open_page({.height = 300}, 300));
  std::size_t at = 8, chunks = 0;
  for (; at < png.size(); ++chunks) {
    const std::uint32_t size = number_at(png, at);
    REQUIRE(at + 12 + size <= png.size());
    CHECK(number_at(png, at + 8 + size) ==
          checksum(std::string_view(png).substr(at + 4, 4 + size)));
    at += 12 + size;
  }
  CHECK(at == png.size());
  CHECK(chunks >= 4);
}

}  // namespace penstock::testing
