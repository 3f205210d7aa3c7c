#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/files/value_list.hpp"

namespace penstock {

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
