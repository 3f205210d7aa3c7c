#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

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
