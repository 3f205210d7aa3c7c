#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/canvas.hpp"
#include "experiments/show/pictures/palette.hpp"

namespace penstock {

/// A colour on dark ground: its lightness turned over, its hue kept, as pages do. White becomes
/// nearly black, and what is pale on paper is as close to the ground.
Colour on_dark(Colour colour);

enum class PictureFormat : std::uint8_t { svg, png, pdf };

/// The format for a file suffix: .svg, .png or .pdf, in any case. Throws UsageError for any other.
PictureFormat picture_format(const std::string& path);

/// Options of any picture; unset ones are chosen by the picture. Lengths are in units of 1/96
/// inch, in every format.
struct PictureOptions {
  std::optional<double> width = {};
  std::optional<double> height = {};
  std::optional<double> font_size = {};  // of labels, default 11; everything else in proportion
  std::optional<std::string> title = {};
  PictureTheme theme = PictureTheme::light;
};

/// A page while it is drawn, in layout units: labels have size 11 at any font size.
struct Page {
  Canvas canvas;
  double scale = 1;  // from layout units to units of the file
  double width = 0;
  double height = 0;
  PictureTheme theme = PictureTheme::light;

  /// The nearest position on the grid of half file units, on which edges are sharp in a PNG.
  double snapped(double place) const;
};

/// A page of the width in the options, or else `own_width` file units; its height is set only by
/// the options. Throws UsageError for a page that is too narrow or too large, or for a font size
/// that is unreadable or too large.
Page open_page(const PictureOptions& options, double own_width);

/// Throws UsageError if a page with a height is lower than `least`.
void check_height(const Page& page, double least);

/// The bytes of a picture file, in the theme of the page. Equal drawings give equal bytes. A PNG
/// has two pixels per unit, for high-resolution screens. Throws std::runtime_error if Cairo fails.
std::string render(PictureFormat format, const Page& page);

/// A picture file with `own_mark` as its comment.
std::string marked(PictureFormat format, std::string bytes);

/// A side of a picture in units of 1/96 inch, from a number or a text such as "85mm"; nothing for
/// an empty one. `option` is named in errors. Throws UsageError.
std::optional<double> length_of(const char* option, const std::string& text);

}  // namespace penstock
