#include "experiments/python/module.hpp"

#include "experiments/python/background.hpp"

NB_MODULE(_core, module) {
  using namespace penstock::python;
  module.doc() = "The C++ side of penstock; use the package instead.";
  module.attr("version") = PENSTOCK_VERSION;
  bind_errors();
  bind_tables(module);
  bind_orders(module);
  bind_runs(module);
  bind_sweeps(module);
  bind_layouts(module);
  module.def("wait_for_background", wait_for_background,
             "Waits for work that Ctrl-C left to itself.");
  nanobind::module_::import_("atexit").attr("register")(module.attr("wait_for_background"));
}
