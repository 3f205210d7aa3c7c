#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

PaperCell cell_of(const CsvCell& cell, const std::string& file) {
  const auto number = plain_number(cell.text);
  PaperCell value =
      number ? number_cell(*number) : PaperCell{nlohmann::json(cell.text).dump(), std::nullopt};
  value.place = {file, cell.row, cell.column};
  return value;
}

/// Of each column of the table, whether its rows have only numbers there and no case of "patches".
std::vector<bool> columns_of_numbers(const PaperTable& table) {
  std::vector<bool> numbers;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    numbers.push_back(!table.rows.empty() && !table.patches.contains(table.columns[i]) &&
                      std::ranges::all_of(table.rows, [&](const PaperRow& row) {
                        return row[i].number.has_value();
                      }));
  }
  return numbers;
}

/// For each column of the table, the index of its cell in a line.
std::vector<std::size_t> places_of(const std::vector<CsvCell>& header, const PaperTable& table) {
  std::vector<std::size_t> places;
  for (const std::string& name : table.columns) {
    const auto found = std::ranges::find(header, name, &CsvCell::text);
    if (found == header.end()) {
      throw InputError(fmt::format("row {}", header.front().row),
                       fmt::format("the column \"{}\" is missing; table \"{}\" has {}", name,
                                   table.name, fmt::join(table.columns, ", ")));
    }
    places.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return places;
}

std::vector<PaperRow> rows_of(std::string_view text, const std::string& file,
                              const PaperTable& table) {
  const std::vector<bool> numbers = columns_of_numbers(table);
  std::vector<std::size_t> places;
  std::vector<PaperRow> rows;
  std::size_t number = 0, width = 0;
  for (std::string_view rest = checked_text(text); !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    const std::vector<CsvCell> cells = csv_cells(line, number);
    if (places.empty()) {
      places = places_of(cells, table);
      width = cells.size();
      continue;
    }
    if (cells.size() != width) {
      cells.back().fail(fmt::format("the row has {}; the first one names {}",
                                    counted(cells.size(), "cell"), counted(width, "column")));
    }
    PaperRow& row = rows.emplace_back();
    for (const std::size_t place : places) {
      const CsvCell& cell = cells[place];
      const bool is_number = numbers[row.size()];
      row.push_back(cell_of(cell, file));
      if (is_number && !row.back().number) {
        cell.fail(fmt::format("\"{}\" is no number; the paper's column has numbers",
                              shortened(cell.text)));
      }
    }
  }
  return rows;
}

}  // namespace

PaperCell number_cell(double value) {
  constexpr double most_whole = 9e15;  // the largest integer exact in a double, rounded down
  const bool whole = std::floor(value) == value && std::abs(value) < most_whole;
  const nlohmann::json number =
      whole ? nlohmann::json(static_cast<std::int64_t>(value)) : nlohmann::json(value);
  return {number.dump(), value};
}

std::string text_of(const PaperCell& cell) {
  const nlohmann::json value = nlohmann::json::parse(cell.json);
  return value.is_string() ? value.get<std::string>() : cell.json;
}

std::vector<std::string> cells_of(const PaperTable& table, const PaperRow& row,
                                  const std::vector<std::string>& columns) {
  std::vector<std::string> cells;
  for (const std::string& name : columns) cells.push_back(text_of(row[column_of(table, name)]));
  return cells;
}

std::vector<PaperRow> read_paper_rows(const std::string& path, const PaperTable& table) {
  const std::string text = read_file(path);
  return about_file(path, [&] {
    std::vector<PaperRow> rows = rows_of(text, path, table);
    if (!rows.empty()) return rows;
    throw InputError("it has no rows");
  });
}

}  // namespace penstock
