#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/plan/sweeps/space/axis.hpp"

namespace penstock {

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
  std::string source;  // as the user wrote it

  /// `values`: JSON texts of a configuration. Texts only equal or differ.
  bool holds(const std::vector<std::string>& values) const;
};

/// Reads "/pointer<=2*/pointer", "/pointer!=value" or "/bandwidth_bytes_per_s>=2GB/s", see
/// setting.hpp. Both sides must be comparable: numbers with numbers, and a text with a pointer that
/// takes it. Throws InputError without a place.
Condition condition_of(const std::string& text, const std::vector<Axis>& axes);

}  // namespace penstock
