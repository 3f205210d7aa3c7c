#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A cell of a table and where it stands: row and column from 0.
struct CsvCell {
  std::string text;
  std::size_t row = 0;
  std::size_t column = 0;

  /// Throws InputError whose place is "row R, column C".
  [[noreturn]] void fail(const std::string& what) const;
};

/// The cells of a line, without blanks around them. A cell in quotes may hold commas, and two
/// quotes for one.
std::vector<CsvCell> csv_cells(std::string_view line, std::size_t row);

}  // namespace penstock
