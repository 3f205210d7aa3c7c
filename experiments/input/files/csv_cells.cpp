#include "experiments/input/files/csv_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The text of a cell. Inside quotes, commas are text and "" is one quote.
std::string unquoted(std::string_view text, const CsvCell& cell) {
  if (text.find('"') == std::string_view::npos) return std::string(text);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    cell.fail(fmt::format("{} has quotes that do not enclose it", shortened(text)));
  }
  text = text.substr(1, text.size() - 2);
  std::string plain;
  while (!text.empty()) {
    const std::size_t quote = text.find('"');
    if (quote == std::string_view::npos) return plain.append(text);
    if (text.substr(quote, 2) != "\"\"") {
      cell.fail(fmt::format("{} has a single quote inside its quotes; write two", shortened(text)));
    }
    plain += text.substr(0, quote + 1);
    text.remove_prefix(quote + 2);
  }
  return plain;
}

/// Where the first cell of a row ends: at a comma outside quotes, or at the end of the row.
std::size_t cell_end(std::string_view row) {
  bool in_quotes = false;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '"') in_quotes = !in_quotes;
    if (row[at] == ',' && !in_quotes) return at;
  }
  return row.size();
}

}  // namespace

void CsvCell::fail(const std::string& what) const {
  throw InputError(fmt::format("row {}, column {}", row, column), what);
}

std::vector<CsvCell> csv_cells(std::string_view line, std::size_t row) {
  constexpr std::size_t most = 64;
  std::vector<CsvCell> cells;
  for (bool more = true; more;) {
    CsvCell cell{.text = {}, .row = row, .column = cells.size()};
    if (cell.column == most) cell.fail(fmt::format("a row has {} columns at most", most));
    const std::size_t end = cell_end(line);
    cell.text = unquoted(trimmed(line.substr(0, end)), cell);
    cells.push_back(std::move(cell));
    more = end < line.size();
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return cells;
}

}  // namespace penstock
