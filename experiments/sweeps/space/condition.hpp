#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/files/quantity.hpp"

namespace penstock {

enum class Relation : std::uint8_t { less, at_most, equal, unequal, at_least, more };

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

  /// `values`: JSON texts of a configuration. Texts only equal or differ.
  bool holds(const std::vector<std::string>& values) const;
};

/// Reads "/pointer<=2*/pointer", "/pointer!=value" or "/bandwidth_bytes_per_s>=2GB/s". `pointers`
/// are those that vary. Throws InputError, also for a unit that the pointer cannot have.
Condition condition_of(const std::string& text, const std::vector<std::string>& pointers);

}  // namespace penstock
