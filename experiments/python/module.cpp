#include "experiments/python/module.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <string_view>

#include "experiments/input/files/shipped.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/python/background.hpp"
#include "sim/base/error.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

constexpr std::string_view between = ": ";

/// Where an input is wrong, taken from the text of its error: "FILE: PLACE: what", "FILE: what".
struct WrongInput {
  std::string file;
  std::string place;  // a JSON pointer, or a row and column
  std::string what;
};

bool is_place(std::string_view text) {
  return text.starts_with('/') || text.starts_with("row ") || text.starts_with("line ");
}

WrongInput wrong_input(const InputError& error) {
  WrongInput all{.file = "", .place = error.where(), .what = error.what()};
  if (!all.place.empty()) return all;
  const std::size_t file_end = all.what.find(between);
  if (file_end == std::string::npos) return all;
  all.file = all.what.substr(0, file_end);
  all.what.erase(0, file_end + between.size());
  const std::size_t place_end = all.what.find(between);
  if (place_end == std::string::npos || !is_place(all.what)) return all;
  all.place = all.what.substr(0, place_end);
  all.what.erase(0, place_end + between.size());
  return all;
}

void set_error(const char* type, nb::object arguments) {
  const nb::object of_type = nb::module_::import_("penstock.errors").attr(type);
  const nb::object value = of_type(*arguments);
  PyErr_SetObject(of_type.ptr(), value.ptr());
}

void translate(const std::exception_ptr& error, void* /*unused*/) {
  try {
    std::rethrow_exception(error);
  } catch (const InputError& wrong) {
    const WrongInput parts = wrong_input(wrong);
    set_error("ScenarioError", nb::make_tuple(wrong.what(), parts.file, parts.place, parts.what));
  } catch (const UsageError& wrong) {
    set_error("UsageError", nb::make_tuple(wrong.what()));
  } catch (const RuleError& wrong) {
    set_error("UsageError", nb::make_tuple(wrong.what()));
  }
}

}  // namespace

}  // namespace penstock::python

NB_MODULE(_core, module) {
  using namespace penstock::python;
  using penstock::Budget, penstock::given_budget, penstock::set_budget, penstock::usual_budget;
  module.doc() = "The C++ side of penstock; use the package instead.";
  module.attr("version") = PENSTOCK_VERSION;
  nanobind::register_exception_translator(translate);
  bind_tables(module);
  bind_orders(module);
  bind_runs(module);
  bind_sweeps(module);
  bind_layouts(module);
  module.def("input_path", penstock::input_path, nanobind::arg("path"),
             "The path of a file, or of one that comes with Penstock.");
  module.def(
      "set_max_memory",
      [](std::optional<double> bytes) {
        constexpr const char* own_name = "penstock.set_max_memory";
        Budget limit = bytes ? given_budget(*bytes, own_name) : usual_budget();
        limit.raise = own_name;
        set_budget(limit);
        return limit.memory_bytes;
      },
      nanobind::arg("bytes") = nanobind::none(), "The limit from now on, in bytes.");
  module.def("wait_for_background", wait_for_background,
             "Waits for work that Ctrl-C left to itself.");
  nanobind::module_::import_("atexit").attr("register")(module.attr("wait_for_background"));
}
