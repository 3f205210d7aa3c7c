#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/files/quantity.hpp"
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

/// One side of a condition: a varied value, or a constant.
struct Operand {
  static constexpr std::size_t constant = SIZE_MAX;
  std::size_t value = constant;  // which of a configuration
  std::string text;              // JSON, of a constant
  double factor = 1;             // of a number
  std::optional<QuantityKind>
      kind;  // of a text with a unit; a constant's is that of the other side
};

/// What a configuration must fulfil to be in the sweep.
struct Condition {
  Operand left;
  Relation relation = Relation::equal;
  Operand right;
  std::string source;       // as the user wrote it
  std::string option = {};  // that gave it, "--where /m >= 4"; empty: a file

  /// `values`: JSON texts of a configuration. Texts only equal or differ.
  bool holds(const std::vector<std::string>& values) const;
};

/// Reads "/pointer<=2*/pointer", "/pointer!=value" or "/bandwidth_bytes_per_s>=2GB/s", see
/// setting.hpp. Both sides must be comparable: numbers with numbers, and a text with a pointer that
/// takes it. Throws InputError without a place.
Condition condition_of(const std::string& text, const std::vector<Axis>& axes);

}  // namespace penstock
