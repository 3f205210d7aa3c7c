#pragma once

#include <cairo/cairo-pdf.h>
#include <cairo/cairo.h>

namespace penstock {

#define PENSTOCK_CAIRO_FUNCTIONS(use)                                                             \
  use(clip) use(clip_extents) use(close_path) use(create) use(destroy) use(fill)                  \
      use(font_options_create) use(font_options_destroy) use(font_options_set_antialias)          \
          use(font_options_set_hint_metrics) use(font_options_set_hint_style)                     \
              use(image_surface_create) use(line_to) use(move_to) use(new_path)                   \
                  use(pdf_surface_create_for_stream) use(pdf_surface_set_metadata) use(rectangle) \
                      use(restore) use(rotate) use(save) use(scale) use(select_font_face)         \
                          use(set_font_options) use(set_font_size) use(set_line_join)             \
                              use(set_line_width) use(set_source_rgb) use(show_text) use(status)  \
                                  use(status_to_string) use(stroke) use(stroke_preserve)          \
                                      use(surface_destroy) use(surface_finish)                    \
                                          use(surface_set_device_scale) use(surface_status)       \
                                              use(surface_write_to_png_stream) use(text_extents)

/// The Cairo functions used, by their names without "cairo_".
struct Cairo {
#define PENSTOCK_MEMBER(name) decltype(&cairo_##name) name;
  PENSTOCK_CAIRO_FUNCTIONS(PENSTOCK_MEMBER)
#undef PENSTOCK_MEMBER
};

/// Loads Cairo at the first call. Cairo loads fonts and window systems, which takes longer than
/// simulating a small pipeline, so the program does not link it. Throws std::runtime_error if Cairo
/// is not installed.
const Cairo& cairo();

/// Throws std::runtime_error with Cairo's message unless all went well.
void check_cairo(cairo_status_t status, const char* doing);

/// Disables font hinting, so that a text has the same shape and width in every format and scale.
void set_plain_fonts(cairo_t* context);

void set_font(cairo_t* context, double size, bool bold);

}  // namespace penstock
