#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A cell of a table. Row and column count from 0.
struct CsvCell {
  std::string text;
  std::size_t row = 0;
  std::size_t column = 0;

  /// Throws InputError whose place is "row R, column C".
  [[noreturn]] void fail(const std::string& what) const;
};

/// The cells of a line, without surrounding blanks. A quoted cell may contain commas, and "" for
/// one quote.
std::vector<CsvCell> csv_cells(std::string_view line, std::size_t row);

}  // namespace penstock
