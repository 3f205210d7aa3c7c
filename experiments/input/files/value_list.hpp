#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// Numbers from `from` to `to`, in equal steps or by equal factors. Values are rounded to 12
/// digits, with the same bytes on every machine.
struct Progression {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;   // 0: every number in between, for samples alone
  bool logarithmic = false;  // equal factors
  bool whole = false;        // rounded to whole numbers

  /// Number `i` of `count`.
  double at(std::uint64_t i) const;
  /// The number at a share from 0 to 1 of the way.
  double between(double share) const;
};

/// Numbers from one to another, as a user gives them: with one of step, factor and points, or with
/// none for a sample.
struct ProgressionText {
  double from = 0;
  double to = 0;
  std::optional<double> step = {};
  std::optional<double> factor = {};
  std::optional<std::uint64_t> points = {};
  bool logarithmic = false;
  std::optional<bool> whole = {};
};

/// Throws InputError without a place.
Progression progression_of(const ProgressionText& text);

/// The values of one pointer: a list or a progression.
struct ValueList {
  std::vector<std::string> list;  // JSON texts
  std::optional<Progression> progression;

  std::uint64_t size() const { return progression ? progression->count : list.size(); }
  bool is_continuous() const { return progression && progression->count == 0; }
  /// JSON text of value `i`.
  std::string text(std::uint64_t i) const;
  /// JSON text of the value at a share from 0 to below 1.
  std::string text_at(double share) const;
};

/// A number as JSON, shortest.
std::string json_number(double value);

}  // namespace penstock
