#include "experiments/plan/sweeps/tables/row_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "sim/base/error.hpp"
#include "validate/store/database.hpp"

namespace penstock {
namespace {

bool ends_with_step(const std::string& column, const std::string& name) {
  return column.ends_with("/" + name) || column.ends_with("." + name);
}

using nlohmann::ordered_json;

TableCell cell_of(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return {false, value.get<std::string>()};
  return {value.is_number(), value.dump()};
}

/// A cell of a text without types.
TableCell cell_of_text(const std::string& text) { return {plain_number(text).has_value(), text}; }

/// Makes numbers of texts with a unit, such as "2GB/s", in columns whose suffix says what they are.
void read_units(RowTable& table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!table.columns[c].starts_with('/')) continue;
    const auto kind = measure_of_key(table.columns[c].substr(table.columns[c].rfind('/') + 1));
    if (!kind) continue;
    for (auto& row : table.rows) {
      TableCell& cell = row[c];
      if (cell.is_number || cell.empty()) continue;
      try {
        if (const auto number = quantity_in(cell.text, *kind)) {
          cell = {true, fmt::format("{}", *number)};
        }
      } catch (const InputError&) {
        // A wrong unit: the row says so as its finding.
      }
    }
  }
}

/// Rows whose columns are found one by one.
class Collector {
 public:
  void begin_row() { cells_.emplace_back(); }
  void add(const std::string& column, TableCell cell) {
    const auto [place, is_new] = columns_.emplace(column, names_.size());
    if (is_new) names_.push_back(column);
    cells_.back().emplace_back(place->second, std::move(cell));
  }
  RowTable table() {
    RowTable all{.columns = names_, .rows = {}};
    // Every row has a cell for each column of any row.
    need_memory(static_cast<double>(names_.size() * cells_.size() * sizeof(TableCell)),
                fmt::format("a table of {} rows and {} columns", cells_.size(), names_.size()),
                "use rows of fewer sweeps");
    for (auto& row : cells_) {
      auto& cells = all.rows.emplace_back(names_.size());
      for (auto& [column, cell] : row) cells[column] = std::move(cell);
    }
    read_units(all);
    return all;
  }

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::pair<std::size_t, TableCell>>> cells_;
};

void add_result(const std::string& prefix, const ordered_json& object, Collector& rows) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
    if (value.is_object()) {
      add_result(name, value, rows);
    } else {
      rows.add(name, cell_of(value));
    }
  }
}

void add_row(std::string_view line, std::uint64_t number, Collector& rows) {
  const ordered_json row = row_document(line, number);
  rows.begin_row();
  rows.add("item", cell_of(row["item"]));
  rows.add("hash", cell_of(row.value("hash", ordered_json())));
  for (const auto& [pointer, value] : row["configuration"].items()) {
    rows.add(pointer, cell_of(value));
  }
  if (row.contains("result")) add_result("", row["result"], rows);
  if (!row.contains("findings") || row["findings"].empty()) return;
  const ordered_json& finding = row["findings"][0];
  rows.add("finding", cell_of(finding.value("kind", ordered_json())));
  rows.add("finding_text", cell_of(finding.value("text", ordered_json())));
}

RowTable read_json_lines(const std::string& path) {
  RowLines reader(path);
  Collector rows;
  for (std::uint64_t number = 1; const auto line = reader.next(); ++number) {
    add_row(*line, number, rows);
  }
  return rows.table();
}

RowTable read_csv(const std::string& path) {
  const std::string text = read_file(path);
  RowTable table;
  std::string_view rest = text;
  for (std::size_t number = 0; !rest.empty(); ++number) {
    const std::vector<CsvCell> cells = csv_cells(take_row(rest), number);
    if (number == 0) {
      for (const CsvCell& cell : cells) table.columns.push_back(cell.text);
      continue;
    }
    if (cells.size() != table.columns.size()) {
      cells.back().fail(
          fmt::format("the row has {} cells, the header {}", cells.size(), table.columns.size()));
    }
    auto& row = table.rows.emplace_back();
    for (const CsvCell& cell : cells) row.push_back(cell_of_text(cell.text));
  }
  return table;
}

TableCell cell_of_column(const Statement& statement, int column) {
  if (const auto whole = statement.whole(column)) return {true, std::to_string(*whole)};
  if (const auto real = statement.real(column)) return {true, fmt::format("{}", *real)};
  return {false, statement.text(column).value_or("")};
}

RowTable read_sqlite(const std::string& path) {
  try {
    Database database(path, Database::Access::read_unchanging);
    RowTable table;
    Statement columns(database, "SELECT name FROM pragma_table_info('rows')");
    while (columns.next()) table.columns.push_back(columns.text(0).value_or(""));
    if (table.columns.empty()) throw InputError("it has no table \"rows\"");
    Statement rows(database, "SELECT * FROM rows ORDER BY rowid");
    while (rows.next()) {
      auto& row = table.rows.emplace_back();
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        row.push_back(cell_of_column(rows, static_cast<int>(c)));
      }
    }
    return table;
  } catch (const DatabaseError& error) {
    throw InputError(error.what());
  }
}

/// Numbers keep their type, and texts theirs. SQL quotes names as CSV does cells.
std::string definition(const RowTable& table) {
  std::string columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool numbers = std::ranges::all_of(
        table.rows, [&](const auto& row) { return row[c].is_number || row[c].empty(); });
    columns += fmt::format("{}{} {}", c == 0 ? "" : ", ", csv_cell(table.columns[c], true),
                           numbers ? "NUMERIC" : "TEXT");
  }
  return fmt::format("CREATE TABLE rows ({})", columns);
}

void fill(const RowTable& table, const std::string& path) {
  Database database(path, Database::Access::create);
  database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  database.run(fmt::format("PRAGMA application_id = {}", sqlite_mark));
  database.run(definition(table));
  database.run("BEGIN");
  const std::vector<std::string> values(table.columns.size(), "NULLIF(?, '')");
  Statement insertion(database,
                      fmt::format("INSERT INTO rows VALUES ({})", fmt::join(values, ", ")));
  for (const auto& row : table.rows) {
    std::vector<std::string_view> texts;
    for (const TableCell& cell : row) texts.emplace_back(cell.text);
    insertion.with_each(texts).finish();
  }
  database.run("COMMIT");
}

/// Spreadsheets compute what begins so.
bool begins_formula(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos;
}

}  // namespace

std::optional<double> TableCell::number() const {
  if (!is_number) return std::nullopt;
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<std::size_t> RowTable::find(const std::string& name) const {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == name) return c;
    if (ends_with_step(columns[c], name)) found.push_back(c);
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::size_t RowTable::column(const std::string& option, const std::string& name) const {
  if (const auto found = find(name)) return *found;
  const bool several = std::ranges::any_of(
      columns, [&](const std::string& one) { return ends_with_step(one, name); });
  throw UsageError(fmt::format("{} {}: {}; columns: {}", option, name,
                               several ? "several columns end so" : "there is no such column",
                               fmt::join(columns, ", ")));
}

std::vector<std::size_t> RowTable::varied() const {
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    // Further results are pointers too; they lie behind the makespan.
    if (columns[c] == "makespan_us") break;
    if (!columns[c].starts_with('/')) continue;
    std::set<std::string> values;
    for (const auto& row : rows) values.insert(row[c].text);
    if (values.size() > 1) all.push_back(c);
  }
  return all;
}

std::string RowTable::finding_of(const std::vector<TableCell>& row) const {
  const auto text_in = [&](std::string_view name) -> std::string {
    const auto found = std::ranges::find(columns, name);
    return found == columns.end() ? ""
                                  : row[static_cast<std::size_t>(found - columns.begin())].text;
  };
  return leaves_answer(text_in("finding")) ? "" : text_in("finding_text");
}

std::optional<double> RowTable::answer(const std::vector<TableCell>& row,
                                       std::size_t column) const {
  return finding_of(row).empty() ? row[column].number() : std::nullopt;
}

std::string spreadsheet_cell(const std::string& text) {
  return csv_cell(text, begins_formula(text) && !plain_number(text));
}

std::string csv_of(const RowTable& table) {
  std::string csv;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    csv += (c == 0 ? "" : ",") + spreadsheet_cell(table.columns[c]);
  }
  csv += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      csv += (c == 0 ? "" : ",") + spreadsheet_cell(row[c].text);
    csv += '\n';
  }
  return csv;
}

RowTable row_table_of(std::string_view lines) {
  Collector rows;
  for (std::uint64_t number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    add_row(lines.substr(0, end), number, rows);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return rows.table();
}

RowTable read_row_table(const std::string& path) {
  try {
    RowTable table;
    if (path.ends_with(".csv")) {
      table = read_csv(path);
    } else if (path.ends_with(".sqlite") || path.ends_with(".db")) {
      table = read_sqlite(path);
    } else {
      return read_json_lines(path);  // names the file itself
    }
    read_units(table);
    return table;
  } catch (const InputError& error) {
    const bool named = std::string_view(error.what()).starts_with(path);
    if (named) throw;
    throw in_file(path, error);
  }
}

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
