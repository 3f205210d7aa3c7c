#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// How the command line names keys of a scenario and their values, for --set, --change, --vary,
// --only, --why and --where:
//
//   settings  = setting { ("," | "&") setting }
//   setting   = pointer "=" value { "," value }
//   value     = JSON | number ".." number [ ":" step | "*" factor ] | text
//   condition = side ( "<" | "<=" | "==" | "!=" | ">=" | ">" ) side
//   side      = [ number "*" ] pointer | JSON | text
//
// Numbers of a range may have the units of their key. A text that holds , & brackets or quotes is
// given in quotes, as JSON.

/// A key of a scenario and its values.
struct Setting {
  std::string pointer;
  ValueList values;
  bool joined = false;  // with & to the one before
};

/// A key of a scenario and its value, as JSON text.
struct SingleSetting {
  std::string pointer;
  std::string value;

  /// "/pointer=value".
  std::string text() const { return pointer + "=" + value; }
};

/// Reads what an option such as "--vary" got. Throws UsageError with the option and its text.
std::vector<Setting> settings_of(std::string_view option, const std::string& text);

/// The same where each key has one value and is named once.
std::vector<SingleSetting> single_settings_of(std::string_view option, const std::string& text);

/// Applies the texts of an option in order. Throws UsageError.
void apply_settings(nlohmann::json& document, const std::vector<std::string>& settings,
                    std::string_view option = "--set");

/// Key and value, as JSON text, of a --set "key=value", or of a scenario's "/section/key=value".
/// Throws UsageError.
std::pair<std::string, std::string> option_setting(const std::string& setting,
                                                   std::string_view section);

/// Throws InputError at `place` for a text that is no JSON pointer.
void check_pointer(const std::string& pointer, const std::string& place);

enum class Relation : std::uint8_t { less, at_most, equal, unequal, at_least, more };

/// One side of a condition: a pointer, or a constant.
struct ConditionSide {
  std::string pointer;  // empty: a constant
  std::string value;    // JSON, of a constant
  double factor = 1;    // of a pointer
};

/// "/pointer <= 2*/pointer".
struct ConditionText {
  ConditionSide left;
  Relation relation = Relation::equal;
  ConditionSide right;
};

/// Throws InputError without a place.
ConditionText condition_text_of(std::string_view text);

}  // namespace penstock
