#include "experiments/pictures/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>

#include "experiments/pictures/cairo.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double png_scale = 2;

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo().surface_destroy(surface); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;

void check(cairo_status_t status, const char* doing) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw std::runtime_error(fmt::format("{} failed: {}", doing, cairo().status_to_string(status)));
}

/// What Cairo calls with each piece of a file; no exception may pass through Cairo.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

Surface open_surface(PictureFormat format, double width, double height, std::string& bytes) {
  if (format == PictureFormat::svg) {
    Surface surface(cairo().svg_surface_create_for_stream(append, &bytes, width, height));
    cairo().svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
    return surface;
  }
  if (format == PictureFormat::pdf) {
    Surface surface(cairo().pdf_surface_create_for_stream(append, &bytes, width, height));
    // Without the date of today, equal drawings give equal bytes.
    cairo().pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
    return surface;
  }
  Surface surface(cairo().image_surface_create(CAIRO_FORMAT_RGB24,
                                               static_cast<int>(std::ceil(width * png_scale)),
                                               static_cast<int>(std::ceil(height * png_scale))));
  cairo().surface_set_device_scale(surface.get(), png_scale, png_scale);
  return surface;
}

/// Cairo numbers the surfaces of a whole program and writes the number into the file as an id that
/// nothing refers to: `<g id="surface42">`.
void drop_surface_number(std::string& svg) {
  constexpr std::string_view id = "<g id=\"surface";
  const std::size_t at = svg.find(id);
  if (at == std::string::npos) return;
  const std::size_t number = at + id.size();
  svg.erase(number, svg.find('"', number) - number);
}

}  // namespace

PictureFormat picture_format(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (suffix == ".svg") return PictureFormat::svg;
  if (suffix == ".png") return PictureFormat::png;
  if (suffix == ".pdf") return PictureFormat::pdf;
  throw UsageError(fmt::format(
      "cannot tell the format of picture \"{}\"; its name must end in .svg, .png or .pdf", path));
}

std::string render(PictureFormat format, double width, double height,
                   const std::function<void(Canvas&)>& draw) {
  std::string bytes;  // outlives the surface, which writes to it
  const Surface surface = open_surface(format, width, height, bytes);
  check(cairo().surface_status(surface.get()), "opening a picture");
  {
    Canvas canvas(cairo().create(surface.get()));
    canvas.fill({0, 0, width, height}, paper);
    draw(canvas);
  }
  if (format == PictureFormat::png) {
    check(cairo().surface_write_to_png_stream(surface.get(), append, &bytes), "writing a PNG");
  }
  cairo().surface_finish(surface.get());
  check(cairo().surface_status(surface.get()), "writing a picture");
  if (format == PictureFormat::svg) drop_surface_number(bytes);
  return bytes;
}

}  // namespace penstock
