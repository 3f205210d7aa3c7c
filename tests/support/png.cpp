#include "tests/support/png.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace penstock::testing {
namespace {

std::size_t big_endian(const std::string& bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

/// The neighbour to which a pixel is nearest.
int paeth(int left, int up, int corner) {
  const int a = std::abs(up - corner), b = std::abs(left - corner);
  const int c = std::abs(left + up - 2 * corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/// Undoes the filter of a row.
void unfilter(int filter, std::size_t step, const std::vector<std::uint8_t>& above,
              std::vector<std::uint8_t>& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const int left = i < step ? 0 : row[i - step], up = above[i];
    const int corner = i < step ? 0 : above[i - step];
    const int added[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
    row[i] = static_cast<std::uint8_t>(row[i] + added[filter]);
  }
}

std::vector<std::uint8_t> inflated(const std::string& data, std::size_t size) {
  std::vector<std::uint8_t> raw(size);
  uLongf length = size;
  const int code =
      ::uncompress(raw.data(), &length, reinterpret_cast<const Bytef*>(data.data()), data.size());
  if (code != Z_OK || length != size) throw std::runtime_error("a PNG with other data");
  return raw;
}

}  // namespace

Pixels pixels_of_png(const std::string& bytes) {
  constexpr std::size_t head = 16;  // of the first chunk, IHDR
  Pixels pixels{big_endian(bytes, head), big_endian(bytes, head + 4), {}};
  const int kind = bytes.at(head + 9);
  if (bytes.at(head + 8) != 8 || (kind != 2 && kind != 6)) throw std::runtime_error("no RGB PNG");
  std::string data;
  for (std::size_t at = 8; at + 8 <= bytes.size(); at += 12 + big_endian(bytes, at)) {
    if (bytes.compare(at + 4, 4, "IDAT") == 0) data += bytes.substr(at + 8, big_endian(bytes, at));
  }
  const std::size_t step = kind == 2 ? 3 : 4, width = pixels.width * step;
  const std::vector<std::uint8_t> raw = inflated(data, pixels.height * (width + 1));
  std::vector<std::uint8_t> above(width), row(width);
  for (std::size_t y = 0; y < pixels.height; ++y) {
    const std::uint8_t* const begin = raw.data() + y * (width + 1);
    std::copy(begin + 1, begin + 1 + width, row.begin());
    unfilter(*begin % 5, step, above, row);
    for (std::size_t x = 0; x < width; x += step) {
      pixels.all.push_back({row[x], row[x + 1], row[x + 2]});
    }
    above = row;
  }
  return pixels;
}

double drawn_share(const Pixels& pixels) {
  const auto drawn = std::count_if(pixels.all.begin(), pixels.all.end(),
                                   [&](Colour colour) { return colour != pixels.all.front(); });
  return static_cast<double>(drawn) / static_cast<double>(pixels.all.size());
}

}  // namespace penstock::testing
