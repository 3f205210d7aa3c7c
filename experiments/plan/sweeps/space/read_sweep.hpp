#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/plan/sweeps/space/sweep_space.hpp"

namespace penstock {

/// What a sweep is asked for, on the command line or from Python.
struct SweepArguments {
  std::string file;                      // of a sweep, or of a scenario
  std::optional<std::string> text = {};  // instead of the file's; `file` is then a name for errors
  std::vector<std::string> settings;     // "/pointer=value", for every configuration
  std::vector<std::string> axes;         // "/pointer=a,b,c", "/pointer=8..64:8", "/a=1,2&/b=3,4"
  std::vector<std::string> conditions;
  std::vector<std::string> results;
  std::optional<Sample> sample;
};

/// Reads a sweep. Axes, conditions and results of the command line come behind those of the file.
/// Throws InputError with the file in front, and UsageError for wrong arguments.
SweepRequest read_sweep(const SweepArguments& arguments);

/// The base of rows that are there: the same, but nothing need vary.
SweepRequest read_sweep_base(const SweepArguments& arguments);

/// The schema of a sweep file, as shipped.
std::string_view sweep_schema();

}  // namespace penstock
