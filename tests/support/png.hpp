#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/show/pictures/palette.hpp"

namespace penstock::testing {

/// The pixels of a PNG file, row by row.
struct Pixels {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<Colour> all;
};

/// Reads a PNG of 8-bit RGB or RGBA without interlacing, as Cairo writes them. Throws
/// std::runtime_error for any other.
Pixels pixels_of_png(const std::string& bytes);

/// The share of pixels that differ from the first.
double drawn_share(const Pixels& pixels);

}  // namespace penstock::testing
