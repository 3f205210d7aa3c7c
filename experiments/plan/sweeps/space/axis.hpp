#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/files/setting.hpp"

namespace penstock {

/// An axis of a sweep: pointers into a scenario that take their values together. A step `*` of a
/// pointer is every item of a list.
struct Axis {
  std::vector<std::string> pointers;
  std::vector<ValueList> values;  // by pointer, equally many each
  std::string option = {};        // that gave it, "--vary /pointer=a,b"; empty: a file

  std::uint64_t size() const { return values.front().size(); }
  bool is_continuous() const { return values.front().is_continuous(); }
};

/// The axes of a --vary: settings with & between them take their values together. Throws
/// UsageError.
std::vector<Axis> axes_of(const std::string& text);

}  // namespace penstock
