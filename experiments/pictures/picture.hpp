#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/pictures/canvas.hpp"

namespace penstock {

enum class PictureFormat : std::uint8_t { svg, png, pdf };

/// The format that a file's suffix names: .svg, .png or .pdf, in small or capital letters. Throws
/// UsageError for any other.
PictureFormat picture_format(const std::string& path);

/// What can be set for any picture; what is not set is the picture's own choice. Lengths are in
/// units of 1/96 inch (a PDF: 1/72).
struct PictureOptions {
  std::optional<double> width = {};
  std::optional<double> height = {};
  std::optional<double> font_size = {};  // of labels, 11 by default; everything else in proportion
  std::optional<std::string> title = {};
};

/// A picture in the making, in layout units: in these, labels have size 11 at every font size.
struct Page {
  Canvas canvas;
  double scale = 1;  // from layout units to units of the file
  double width = 0;
  double height = 0;

  /// The nearest place on the grid of half units of the file, on which edges are sharp in a PNG.
  double snapped(double place) const;
};

/// A page of the width that is set, else of `own_width` units of the file; it has a height where
/// one is set. Throws UsageError for a page that is too narrow or too large, or for a font size
/// that cannot be read or drawn.
Page open_page(const PictureOptions& options, double own_width);

/// Throws UsageError when a page of `height` cannot hold a picture that takes `least`.
void check_height(const Page& page, double least);

/// The bytes of a picture file, on white paper. Equal drawings give equal bytes. A PNG has two
/// pixels for each unit, so that it is sharp on fine screens. Throws std::runtime_error when Cairo
/// fails.
std::string render(PictureFormat format, const Page& page);

}  // namespace penstock
