#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {

/// Bounds of every JSON text from outside.
struct JsonLimits {
  static constexpr std::size_t levels = 64;  // of values in each other, and steps of a pointer
  static constexpr std::size_t line_bytes = std::size_t{1} << 26;      // of a file of lines
  static constexpr std::size_t document_bytes = std::size_t{1} << 28;  // of any other
};

/// Whether a text is JSON, so that parse_json says what else is wrong with it.
bool is_json(std::string_view text);

/// Parses JSON strictly: no comments, no NaN, no duplicate keys, within JsonLimits; 8.0 is the
/// whole number 8. Throws InputError whose place is a line and column, or a pointer.
nlohmann::json parse_json(std::string_view text);
/// The same, with keys in the order of the text and 8.0 as it is.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// Throws InputError for a pointer of more than JsonLimits::levels steps.
void check_depth(std::string_view pointer);

/// Puts a JSON text at a pointer; a step `*` is every item of a list. Throws InputError without a
/// place if the pointer does not fit.
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

/// Whether the error of a check is that of a key that the schema does not know.
bool is_of_unknown_key(const InputError& error);

/// Whether a text starts with an object that has this key at its top level. A cheap check to
/// recognise formats: it reads no further than needed and ignores errors in nested values.
bool has_outer_key(std::string_view text, std::string_view key);

/// A value of a document and its place there, for files without a schema. The document must outlive
/// it. A missing or wrong value throws InputError with the place and what would be right.
class JsonView {
 public:
  explicit JsonView(const nlohmann::json& value, std::string where = {})
      : value_(&value), where_(std::move(where)) {}

  /// A JSON pointer.
  const std::string& where() const { return where_; }
  bool is_null() const;

  /// The value of a key of an object.
  JsonView at(std::string_view key) const;
  /// As `at`, but the key may be absent.
  std::optional<JsonView> find(std::string_view key) const;
  /// All members of an object, by key in ascending order of characters.
  std::vector<std::pair<std::string, JsonView>> entries() const;
  /// The values of a list, Limits::layers at most.
  std::vector<JsonView> items() const;

  double number(double least, double most) const;
  std::uint32_t whole(std::uint32_t most) const;
  const std::string& text() const;
  /// true, false, 1 or 0.
  bool flag() const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[noreturn]] void unlike(const std::string& wanted) const;

  const nlohmann::json* value_;
  std::string where_;
};

}  // namespace penstock
