#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "experiments/input/files/output_file.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "sim/base/error.hpp"
#include "validate/store/database.hpp"

namespace penstock {
namespace {

/// A text between quotes of SQL.
std::string between(char quote, const std::string& text) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += quote;
    quoted += c;
  }
  return quoted + quote;
}

/// Numbers keep their type, texts theirs.
std::string definition(const RowTable& table) {
  std::string columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool numbers = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return row[c].is_number || row[c].empty();
    });
    columns += fmt::format("{}{} {}", c == 0 ? "" : ", ", between('"', table.columns[c]),
                           numbers ? "NUMERIC" : "TEXT");
  }
  return fmt::format("CREATE TABLE rows ({})", columns);
}

std::string insertion(const std::vector<TableCell>& row) {
  std::string values;
  for (const TableCell& cell : row) {
    values += values.empty() ? "" : ",";
    values += cell.empty() ? "NULL" : cell.is_number ? cell.text : between('\'', cell.text);
  }
  return fmt::format("INSERT INTO rows VALUES ({});", values);
}

void fill(const RowTable& table, const std::string& path) {
  Database database(path, Database::Access::create);
  database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  database.run(fmt::format("PRAGMA application_id = {}", sqlite_mark));
  database.run(definition(table));
  database.run("BEGIN");
  for (const auto& row : table.rows) database.run(insertion(row));
  database.run("COMMIT");
}

}  // namespace

void write_sqlite(const RowTable& table, const std::string& path, Existing replaced) {
  OutputFile file(path, replaced);
  try {
    fill(table, file.name_until_published());
  } catch (const DatabaseError& error) {
    const std::string text = fmt::format("{}: cannot write: {}", path, error.what());
    if (error.fault() == DatabaseFault::full) throw std::runtime_error(text);
    throw UsageError(text);
  }
  file.publish();
}

}  // namespace penstock
