#include "experiments/python/module.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "experiments/input/files/shipped.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/python/background.hpp"
#include "experiments/run/repeat.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

void set_error(const char* type, nb::object arguments) {
  const nb::object of_type = nb::module_::import_("penstock.errors").attr(type);
  const nb::object value = of_type(*arguments);
  PyErr_SetObject(of_type.ptr(), value.ptr());
}

void translate(const std::exception_ptr& error, void* /*unused*/) {
  try {
    std::rethrow_exception(error);
  } catch (const InputError& wrong) {
    set_error("ScenarioError",
              nb::make_tuple(wrong.what(), wrong.file(), wrong.where(), wrong.message()));
  } catch (const UsageError& wrong) {
    set_error("UsageError", nb::make_tuple(wrong.what()));
  } catch (const RuleError& wrong) {
    set_error("UsageError", nb::make_tuple(wrong.what()));
  }
}

/// The least and the most of an argument that is a whole number.
std::pair<std::uint64_t, std::uint64_t> bounds(const std::string& argument) {
  static const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> all{
      {"best", {1, most_listed}},
      {"chains", {0, Limits::stages - 1}},
      {"chunks", {1, Limits::stages}},
      {"devices", {1, most_planned_devices}},
      {"global_batch", {1, most_planned_examples}},
      {"jobs", {1, most_jobs}},
      {"microbatch", {1, most_planned_examples}},
      {"microbatches", {1, Limits::microbatches}},
      {"rank", {0, Limits::ranks - 1}},
      {"ranks", {1, Limits::ranks}},
      {"repeat", {0, most_draws}},
      {"sample", {1, most_sampled}},
      {"seed", {0, std::numeric_limits<std::uint64_t>::max()}},
      {"sequence", {1, most_planned_examples}}};
  return all.at(argument);
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
  module.def("bounds", bounds, nanobind::arg("argument"),
             "The least and the most of an argument that is a whole number.");
  module.def("wait_for_background", wait_for_background,
             "Waits for work that Ctrl-C left to itself.");
  nanobind::module_::import_("atexit").attr("register")(module.attr("wait_for_background"));
}
