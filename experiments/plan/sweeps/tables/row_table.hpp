#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"

namespace penstock {

/// A value of a table: a number as it was written, a text, or nothing.
struct TableCell {
  bool is_number = false;
  std::string text;

  bool empty() const { return text.empty() && !is_number; }
  std::optional<double> number() const;
  friend bool operator==(const TableCell&, const TableCell&) = default;
};

/// The rows of a sweep as a table: number and hash, the configuration by pointer, the result by
/// names such as "bubble.of_makespan", and the first finding.
struct RowTable {
  std::vector<std::string> columns;
  std::vector<std::vector<TableCell>> rows;  // as many cells as columns each

  /// The column of this name, or the only one that ends in it: "microbatches" is
  /// "/schedule/microbatches".
  std::optional<std::size_t> find(const std::string& name) const;
  /// The same. Throws UsageError with the columns; `option` is whose value the name is.
  std::size_t column(const std::string& option, const std::string& name) const;
  /// Columns of the configuration whose values differ.
  std::vector<std::size_t> varied() const;
  /// Why a row is no answer, such as out of memory; empty for one that is.
  std::string finding_of(const std::vector<TableCell>& row) const;
  /// The number of a row that is an answer. One with a finding has none, whatever it measured,
  /// unless it only misses an expectation.
  std::optional<double> answer(const std::vector<TableCell>& row, std::size_t column) const;
};

/// Reads results of a sweep: .csv, .sqlite or .db, and any other file as JSON Lines. Throws
/// InputError with the file's name in front.
RowTable read_row_table(const std::string& path);

/// The same of the text of JSON Lines.
RowTable row_table_of(std::string_view lines);

/// A cell as CSV: a text that has commas or quotes, or begins as formulas of spreadsheets do, in
/// quotes.
std::string spreadsheet_cell(const std::string& text);
/// The table as CSV, with one header line.
std::string csv_of(const RowTable& table);

/// Writes a SQLite database with the table "rows"; whole or not at all.
void write_sqlite(const RowTable& table, const std::string& path,
                  Existing replaced = Existing::own);

}  // namespace penstock
