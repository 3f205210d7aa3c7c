#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Bounds of every JSON text from outside.
struct JsonLimits {
  static constexpr std::size_t levels = 64;  // of values in each other, and steps of a pointer
  static constexpr std::size_t line_bytes = std::size_t{1} << 26;      // of a file of lines
  static constexpr std::size_t document_bytes = std::size_t{1} << 28;  // of any other
};

/// Whether a text is JSON, so that parse_json says what else is wrong with it.
bool is_json(std::string_view text);

/// Parses JSON strictly: no comments, no NaN, no duplicate keys, within JsonLimits. Throws
/// InputError whose place is a line and column, or a pointer.
nlohmann::json parse_json(std::string_view text);
/// The same, with keys in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// Throws InputError for a pointer of more than JsonLimits::levels steps.
void check_depth(std::string_view pointer);

/// Puts a JSON text at a pointer. Throws InputError without a place if the pointer does not fit.
void set_value(nlohmann::json& document, const std::string& pointer, const std::string& value);

/// What a schema takes, in words: "a number from 0 to 1e+12, or one with a unit, such as "2ms"".
std::string taken_text(const nlohmann::json& schema, const nlohmann::json& root);

/// A JSON schema, compiled once for any number of documents. Thread-safe.
class Schema {
 public:
  explicit Schema(const nlohmann::json& schema);
  ~Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;

  /// Throws InputError with the JSON pointer of the error and what would be right there.
  void check(const nlohmann::json& document) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> prepared_;
};

/// Stores the value of a key if it is present. The schema has checked its type; use a JsonView for
/// unchecked documents. (A template, because headers only forward-declare the JSON type.)
template <class Json, class Target>
void take(const Json& object, const char* key, Target& target) {
  if (object.contains(key)) target = object[key].template get<Target>();
}
template <class Json, class Value>
void take(const Json& object, const char* key, std::optional<Value>& target) {
  if (object.contains(key)) target = object[key].template get<Value>();
}

}  // namespace penstock
