#include "experiments/show/pictures/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <variant>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/show/pictures/cairo.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double png_scale = 2;
constexpr double pdf_scale = 72.0 / 96;  // points
constexpr double usual_font_size = 11;
constexpr double smallest_font = 4;
constexpr double largest_font = 72;
constexpr double narrowest_layout = 180;
constexpr double largest_side = 16'000;  // Cairo supports 32,767 pixels

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo().surface_destroy(surface); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;

/// Cairo calls this with each piece of a file. No exception may pass through Cairo.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

Surface open_surface(PictureFormat format, double width, double height, std::string& bytes) {
  if (format == PictureFormat::pdf) {
    Surface surface(cairo().pdf_surface_create_for_stream(append, &bytes, width * pdf_scale,
                                                          height * pdf_scale));
    cairo().surface_set_device_scale(surface.get(), pdf_scale, pdf_scale);
    // A creation date would make equal drawings differ.
    cairo().pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
    return surface;
  }
  Surface surface(cairo().image_surface_create(CAIRO_FORMAT_RGB24,
                                               static_cast<int>(std::ceil(width * png_scale)),
                                               static_cast<int>(std::ceil(height * png_scale))));
  cairo().surface_set_device_scale(surface.get(), png_scale, png_scale);
  return surface;
}

std::string render_on_cairo(PictureFormat format, double width, double height, double scale,
                            const std::vector<Mark>& marks) {
  std::string bytes;  // outlives the surface that writes to it
  const Surface surface = open_surface(format, width, height, bytes);
  check_cairo(cairo().surface_status(surface.get()), "opening a picture");
  cairo_t* const context = cairo().create(surface.get());
  const std::unique_ptr<cairo_t, void (*)(cairo_t*)> owner(context, cairo().destroy);
  cairo().scale(context, scale, scale);
  draw_marks(context, marks);
  if (format == PictureFormat::png) {
    check_cairo(cairo().surface_write_to_png_stream(surface.get(), append, &bytes),
                "writing a PNG");
  }
  cairo().surface_finish(surface.get());
  check_cairo(cairo().surface_status(surface.get()), "writing a picture");
  return bytes;
}

void check_side(const char* side, double length) {
  if (length <= largest_side) return;
  throw UsageError(
      fmt::format("a picture {:.6g} {}; at most {} is possible", length, side, largest_side));
}

/// Replaces the colours of a mark.
struct Darkening {
  void operator()(FilledBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(HatchedBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(OutlinedBoxes& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(Polyline& mark) const { mark.colour = on_dark(mark.colour); }
  void operator()(Polygon& mark) const {
    mark.colour = on_dark(mark.colour);
    mark.outline = on_dark(mark.outline);
  }
  void operator()(Writing& mark) const { mark.style.colour = on_dark(mark.style.colour); }
};

std::uint8_t channel_of(double share) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

struct LengthUnit {
  std::string_view name;
  double size;  // in 1/96 inch
};
constexpr std::array length_units{LengthUnit{"px", 1}, LengthUnit{"mm", 96 / 25.4},
                                  LengthUnit{"cm", 96 / 2.54}, LengthUnit{"in", 96},
                                  LengthUnit{"pt", 96.0 / 72}};

}  // namespace

PictureFormat picture_format(const std::string& path) {
  const std::string suffix = in_small_letters(std::filesystem::path(path).extension().string());
  if (suffix == ".svg") return PictureFormat::svg;
  if (suffix == ".png") return PictureFormat::png;
  if (suffix == ".pdf") return PictureFormat::pdf;
  throw UsageError(
      fmt::format("{}: unknown picture format; the name must end in .svg, .png or .pdf",
                  path.empty() ? "\"\"" : path));
}

double Page::snapped(double place) const { return std::round(place * scale * 2) / (scale * 2); }

Page open_page(const PictureOptions& options, double own_width) {
  const double font_size = options.font_size.value_or(usual_font_size);
  if (!(font_size >= smallest_font && font_size <= largest_font)) {
    throw UsageError(fmt::format("a font size of {}; {} to {} is possible", font_size,
                                 smallest_font, largest_font));
  }
  Page page;
  page.scale = font_size / usual_font_size;
  const double width = options.width.value_or(std::max(own_width, narrowest_layout * page.scale));
  check_side("wide", width);
  if (!(width >= narrowest_layout * page.scale)) {
    throw UsageError(fmt::format(
        "a picture {:.6g} wide has no room for text of size {}; at least {:.0f} is needed, or a "
        "smaller font size",
        width, font_size, std::ceil(narrowest_layout * page.scale)));
  }
  page.width = width / page.scale;
  page.height = options.height.value_or(0) / page.scale;
  page.theme = options.theme;
  return page;
}

void check_height(const Page& page, double least) {
  if (page.height >= least) return;
  throw UsageError(
      fmt::format("a picture {:.6g} high has no room for what is in it; it takes {:.0f}",
                  page.height * page.scale, std::ceil(least * page.scale)));
}

std::string render(PictureFormat format, const Page& page) {
  // Layout heights may be fractions; file heights are whole.
  const double width = std::round(page.width * page.scale * 1000) / 1000;
  const double height = std::ceil(page.height * page.scale - 1e-6);
  check_side("high", height);
  std::vector<Mark> marks{FilledBoxes{{{0, 0, page.width + 1, page.height + 1}}, paper}};
  marks.insert(marks.end(), page.canvas.marks().begin(), page.canvas.marks().end());
  // Marks are drawn for paper.
  if (page.theme != PictureTheme::light) {
    for (Mark& mark : marks) std::visit(Darkening{}, mark);
  }
  return marked(format, format == PictureFormat::svg
                            ? svg_of(marks, width, height, page.scale)
                            : render_on_cairo(format, width, height, page.scale, marks));
}

std::string marked(PictureFormat format, std::string bytes) {
  if (format == PictureFormat::pdf) return bytes + fmt::format("%{}\n", own_mark);
  if (format == PictureFormat::svg) {
    return bytes.insert(bytes.find('\n') + 1, fmt::format("<!-- {} -->\n", own_mark));
  }
  constexpr std::size_t behind_header = 33;
  constexpr std::string_view length("\0\0\0\x2f", 4), key("tEXtComment\0", 12);
  constexpr std::string_view checksum("\x33\x04\x35\x7c");  // of key and mark
  return bytes.insert(behind_header, fmt::format("{}{}{}{}", length, key, own_mark, checksum));
}

Colour on_dark(Colour colour) {
  // invert(0.91) and hue-rotate(180deg) of CSS.
  const auto inverted = [](std::uint8_t channel) { return 0.91 - 0.82 * channel / 255.0; };
  const double r = inverted(colour.red), g = inverted(colour.green), b = inverted(colour.blue);
  return {channel_of(-0.574 * r + 1.430 * g + 0.144 * b),
          channel_of(0.426 * r + 0.430 * g + 0.144 * b),
          channel_of(0.426 * r + 1.430 * g - 0.856 * b)};
}

std::optional<double> length_of(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::string_view number = text;
  double size = 1;
  for (const LengthUnit& unit : length_units) {
    if (!number.ends_with(unit.name)) continue;
    number = trimmed(number.substr(0, number.size() - unit.name.size()));
    size = unit.size;
    break;
  }
  const auto length = plain_number(number);
  if (!length) {
    throw UsageError(
        fmt::format("{} {}: expected a length in 1/96 inch, or one with px, mm, cm, in or pt: 85mm",
                    option, text));
  }
  const double side = *length * size;
  if (side >= 1 && side <= largest_side) return side;
  throw UsageError(
      fmt::format("{} is {}: expected 1 to {} (1/96 inch)", option, text, largest_side));
}

}  // namespace penstock
