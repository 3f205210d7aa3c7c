#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::python {

/// The values of a column in memory.
enum class ColumnType : std::uint8_t {
  uint32,
  int64,
  float64,
  code,  // int8: numbers of categories
  text,  // int32: where each begins among the bytes, and the end of the last
};

/// A column of a table. Numbers are a view of what `owner` holds; nothing is copied.
struct Column {
  std::string name;
  ColumnType type = ColumnType::int64;
  std::int64_t length = 0;
  const void* values = nullptr;
  std::shared_ptr<const void> owner;  // of the values

  const char* bytes = nullptr;          // of texts
  std::vector<std::string> categories;  // of codes
  std::vector<std::uint8_t> present;    // one bit per value, lowest first; empty: all are there
  std::int64_t missing = 0;             // how many are not

  bool is_present(std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    return present.empty() || (present[i / 8] >> (i % 8) & 1U) != 0;
  }
  std::string_view text(std::int64_t row) const;
};

using SharedColumn = std::shared_ptr<const Column>;

/// Columns of equal length.
struct Table {
  std::vector<SharedColumn> columns;

  std::int64_t rows() const { return columns.empty() ? 0 : columns.front()->length; }
};

/// A column of numbers or codes that `owner` holds.
template <class Value>
Column column_of(std::string name, ColumnType type, const std::vector<Value>& values,
                 std::shared_ptr<const void> owner) {
  return {.name = std::move(name),
          .type = type,
          .length = static_cast<std::int64_t>(values.size()),
          .values = values.data(),
          .owner = std::move(owner)};
}

/// The same of numbers that only the column needs.
template <class Value>
Column own_column(std::string name, ColumnType type, std::vector<Value> values) {
  const auto held = std::make_shared<const std::vector<Value>>(std::move(values));
  return column_of(std::move(name), type, *held, held);
}

/// A column of texts. Throws std::length_error for more than 2 GiB of them.
Column text_column(std::string name, const std::vector<std::string_view>& texts);

}  // namespace penstock::python
