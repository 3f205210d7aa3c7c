#include "experiments/plan/sweeps/tables/row_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool ends_with_step(const std::string& column, const std::string& name) {
  return column.ends_with("/" + name) || column.ends_with("." + name);
}

}  // namespace

std::optional<double> TableCell::number() const {
  if (!is_number) return std::nullopt;
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::size_t RowTable::column(const std::string& option, const std::string& name) const {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c] == name) return c;
    if (ends_with_step(columns[c], name)) found.push_back(c);
  }
  if (found.size() == 1) return found.front();
  throw UsageError(fmt::format("{} {}: {}; columns: {}", option, name,
                               found.empty() ? "there is no such column" : "several columns end so",
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

std::string csv_of(const RowTable& table) {
  const auto cell = [](const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
  };
  std::string csv;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    csv += (c == 0 ? "" : ",") + cell(table.columns[c]);
  }
  csv += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) csv += (c == 0 ? "" : ",") + cell(row[c].text);
    csv += '\n';
  }
  return csv;
}

}  // namespace penstock
