#include "experiments/show/pictures/cairo.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace penstock {
namespace {

constexpr const char* library_name = "libcairo.so.2";

void* open_library() {
  if (void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error(fmt::format("pictures need Cairo: {}", dlerror()));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw std::runtime_error(fmt::format("{} has no {}; pictures need it", library_name, name));
  }
  function = reinterpret_cast<Function>(found);
}

Cairo load() {
  void* const library = open_library();
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

}  // namespace penstock
