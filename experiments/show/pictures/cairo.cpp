#include "experiments/show/pictures/cairo.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace penstock {
namespace {

constexpr const char* library_name = "libcairo.so.2";

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw std::runtime_error(fmt::format("{} has no {}; pictures need it", library_name, name));
  }
  function = reinterpret_cast<Function>(found);
}

Cairo load() {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(fmt::format("pictures need Cairo: {}", dlerror()));
  }
  Cairo functions{};
#define PENSTOCK_FIND(name) find(library, "cairo_" #name, functions.name);
  PENSTOCK_CAIRO_FUNCTIONS(PENSTOCK_FIND)
#undef PENSTOCK_FIND
  return functions;
}

}  // namespace

const Cairo& cairo() {
  static const Cairo functions = load();
  return functions;
}

void check_cairo(cairo_status_t status, const char* doing) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw std::runtime_error(fmt::format("{} failed: {}", doing, cairo().status_to_string(status)));
}

void set_plain_fonts(cairo_t* context) {
  cairo_font_options_t* options = cairo().font_options_create();
  cairo().font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo().font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo().font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo().set_font_options(context, options);
  cairo().font_options_destroy(options);
}

void set_font(cairo_t* context, double size, bool bold) {
  cairo().select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo().set_font_size(context, size);
}

}  // namespace penstock
