#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/graphs/profile_model.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::profile_csv_file {
namespace {

constexpr std::string_view other_columns = "layer, examples, parameter_bytes";
constexpr std::array<std::string_view, 3> needed_columns{"layer", "examples", "forward_us"};

std::string known_columns() {
  return fmt::format("{}, {}", other_columns, joined(profile_numbers, &ProfileNumber::name));
}

/// The column names. Each must be known and unique.
std::vector<CsvCell> header_of(std::string_view line) {
  std::vector<CsvCell> header = csv_cells(line, 0);
  for (const CsvCell& cell : header) {
    const bool known = is_listed(other_columns, cell.text) ||
                       std::ranges::any_of(profile_numbers, [&](const ProfileNumber& column) {
                         return column.name == cell.text;
                       });
    if (!known) {
      cell.fail(
          fmt::format("unknown column \"{}\"; known: {}", shortened(cell.text), known_columns()));
    }
    const auto same = std::ranges::find(header, cell.text, &CsvCell::text);
    if (same->column != cell.column) {
      cell.fail(fmt::format("column {} is {} already", same->column, cell.text));
    }
  }
  for (const std::string_view name : needed_columns) {
    if (std::ranges::any_of(header, [&](const CsvCell& cell) { return cell.text == name; })) {
      continue;
    }
    throw InputError("row 0", fmt::format("the column \"{}\" is missing", name));
  }
  return header;
}

double number(const CsvCell& cell, std::string_view name, double least, double most) {
  const auto value = plain_number(cell.text);
  if (value && *value >= least && *value <= most) return *value;
  cell.fail(fmt::format("{} is \"{}\", not a number from {} to {}", name, shortened(cell.text),
                        least, most));
}

/// The content of one row.
struct Row {
  CsvCell layer;
  CsvCell examples;
  ProfilePoint point;
  std::optional<double> parameter_bytes;
};

Row row_of(std::vector<CsvCell> cells, const std::vector<CsvCell>& header) {
  if (cells.size() != header.size()) {
    cells.back().fail(fmt::format("the row has {}; row 0 names {}", counted(cells.size(), "cell"),
                                  counted(header.size(), "column")));
  }
  Row row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CsvCell& cell = cells[i];
    const std::string& name = header[i].text;
    if (name == "layer") row.layer = cell;
    if (name == "examples") row.examples = cell;
    const bool absent = cell.text.empty() && name != "forward_us";
    if (name == "parameter_bytes" && !absent) {
      row.parameter_bytes = number(cell, name, 0, Limits::bytes);
    }
    for (const ProfileNumber& column : profile_numbers) {
      if (column.name != name || absent) continue;
      row.point.*column.value = number(cell, name, 0, column.most);
    }
  }
  if (row.layer.text.empty()) row.layer.fail("the row has no layer; its name is needed");
  row.point.examples =
      number(row.examples, "examples", ProfileRange::least_examples, ProfileRange::most_examples);
  return row;
}

/// By layer: the parameters stated in its rows so far.
using Parameters = std::vector<std::optional<double>>;

void take_parameters(const Row& row, std::size_t layer, Parameters& parameters,
                     ProfileBuilder& builder) {
  parameters.resize(std::max(parameters.size(), layer + 1));
  if (!row.parameter_bytes) return;
  const std::optional<double> above = parameters[layer];
  if (above && *above != *row.parameter_bytes) {
    row.layer.fail(
        fmt::format("{} has {} parameter_bytes here and {} above; a layer has the same in all rows",
                    shortened(row.layer.text), *row.parameter_bytes, *above));
  }
  parameters[layer] = row.parameter_bytes;
  builder.set_parameter_bytes(layer, *row.parameter_bytes);
}

void add_row(const Row& row, Parameters& parameters, ProfileBuilder& builder) {
  const std::size_t layer = builder.mention({.layer = row.layer.text}).first;
  take_parameters(row, layer, parameters, builder);
  if (builder.add(layer, row.point)) return;
  row.examples.fail(
      fmt::format("{} has a row of {} examples already; each number of examples has one",
                  shortened(row.layer.text), row.point.examples));
}

/// A file is a profile if its first row has the essential columns.
bool recognizes(std::string_view text) {
  constexpr std::size_t longest = 4096;
  bool layer = false;
  bool forward = false;
  for (std::string_view rest = take_line(text).substr(0, longest); !rest.empty();) {
    const std::string_view cell = trimmed(take_until(rest, ','));
    layer = layer || cell == "layer" || cell == "\"layer\"";
    forward = forward || cell == "forward_us" || cell == "\"forward_us\"";
  }
  return layer && forward;
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  text = checked_text(text);
  const std::vector<CsvCell> header = header_of(take_line(text));
  ProfileBuilder builder;
  Parameters parameters;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (trimmed(line).empty()) continue;
    if (number > Limits::layers) {
      throw InputError(fmt::format("row {}", number),
                       fmt::format("there are more than {} rows", Limits::layers));
    }
    add_row(row_of(csv_cells(line, number), header), parameters, builder);
  }
  Profile profile = std::move(builder).take();
  if (profile.entries.empty()) throw InputError("row 1", "there are no rows below the names");
  return model_of(std::move(profile));
}

}  // namespace

constinit extern const FormatEntry profile_csv_entry{
    .name = "profile-csv",
    .suffix = ".csv",
    .summary = "layers as they were measured at several microbatch sizes, a row each; read",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::profile_csv_file
