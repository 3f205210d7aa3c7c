#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "sim/base/error.hpp"

namespace penstock::python {

// What each file adds to the module. The package beside this folder gives it its Python face; names
// here are those of the C++ side.

void bind_tables(nanobind::module_& module);
void bind_orders(nanobind::module_& module);
void bind_runs(nanobind::module_& module);
void bind_sweeps(nanobind::module_& module);
void bind_layouts(nanobind::module_& module);

/// A scenario as Python gives it: a file, or its text with a name for errors. Relative paths of a
/// text are resolved against the working folder, as those of standard input.
struct ScenarioSource {
  std::string source;
  std::optional<std::string> text;
  std::vector<std::string> settings;  // "/pointer=value"
};

inline Scenario read(const ScenarioSource& given) {
  return given.text ? parse_scenario(*given.text, given.source, given.settings)
                    : read_scenario(given.source, given.settings);
}

/// Throws UsageError for an argument outside of what the command takes. Whole numbers are within
/// `bounds` of the module already.
inline void check_within(const char* what, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw UsageError(fmt::format("{} is {}: it must be from {} to {}", what, value, least, most));
}

}  // namespace penstock::python
