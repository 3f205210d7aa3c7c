#include "experiments/measure/reproduction/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/error_place.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const json& table, const char* key) {
  Pairs pairs;
  if (!table.contains(key)) return pairs;
  if (table[key].is_array()) {
    for (const json& pair : table[key]) pairs.emplace_back(pair[0], pair[1]);
    return pairs;
  }
  for (const auto& [name, value] : table[key].items()) pairs.emplace_back(name, value);
  return pairs;
}

PaperCell cell_of(const json& value) {
  PaperCell cell{value.dump(), std::nullopt};
  if (value.is_number()) cell.number = value.get<double>();
  return cell;
}

PaperRow row_of(const json& row, const PaperTable& table) {
  if (row.size() != table.columns.size()) {
    throw InputError("",
                     fmt::format("the row has {}; the table has {}", counted(row.size(), "cell"),
                                 counted(table.columns.size(), "column")));
  }
  PaperRow cells;
  for (const json& value : row) cells.push_back(cell_of(value));
  return cells;
}

PaperConstant constant_of(const json& entry) {
  PaperConstant constant{entry["name"],
                         entry["is"],
                         entry.value("unit", ""),
                         {entry["start"], entry["least"], entry["most"]}};
  const FitRange& range = constant.range;
  if (range.least <= range.start && range.start <= range.most) return constant;
  throw InputError("/start", fmt::format("{} does not lie between \"least\" and \"most\"",
                                         entry["start"].dump()));
}

void check_columns(const std::vector<std::string>& names, const PaperTable& table) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    below(fmt::format("/{}", i), [&] { column_of(table, names[i]); });
  }
}

PaperFit fit_of(const json& entry, const Paper& paper) {
  PaperFit fit;
  take(entry, "constants", fit.constants);
  take(entry, "table", fit.table);
  take(entry, "rows", fit.rows);
  take(entry, "apart", fit.apart);
  take(entry, "on_others", fit.on_others);
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const bool known = std::any_of(
        paper.constants.begin(), paper.constants.end(),
        [&](const PaperConstant& constant) { return constant.name == fit.constants[i]; });
    if (known) continue;
    throw InputError(fmt::format("/constants/{}", i),
                     fmt::format("there is no constant \"{}\"", fit.constants[i]));
  }
  return fit;
}

Judgement judgement_of(const json& entry, const PaperTable& table, const Paper& paper) {
  Judgement judgement{.name = entry["name"]};
  take(entry, "rows", judgement.rows);
  take(entry, "each", judgement.each);
  take(entry, "mean", judgement.mean);
  take(entry, "ranking", judgement.ranking);
  take(entry, "in_order", judgement.in_order);
  take(entry, "apart", judgement.apart);
  take(entry, "ranked_by", judgement.ranked_by);
  below("/ranked_by", [&] { check_columns(judgement.ranked_by, table); });
  if (!entry.contains("fit")) return judgement;
  judgement.fit = below("/fit", [&] { return fit_of(entry["fit"], paper); });
  below("/fit/apart", [&] { check_columns(judgement.fit->apart, table); });
  return judgement;
}

PaperReference reference_of(const json& entry, const PaperTable& table) {
  PaperReference reference{.row = entry["row"]};
  take(entry, "within", reference.within);
  reference.difference = entry.value("as", "ratio") == "difference";
  below("/within", [&] { check_columns(reference.within, table); });
  return reference;
}

void read_rows(const json& entry, const std::string& folder, PaperTable& table) {
  const json rows = entry.value("rows", json::array());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.rows.push_back(below(fmt::format("/rows/{}", i), [&] { return row_of(rows[i], table); }));
  }
  if (rows.empty() && !entry.contains("rows_file")) {
    throw InputError("/rows", "there are none; give \"rows\" or \"rows_file\"");
  }
  if (!entry.contains("rows_file")) return;
  for (PaperRow& row : read_paper_rows(resolve(folder, entry["rows_file"]), table)) {
    table.rows.push_back(std::move(row));
  }
}

void read_scenario_parts(const json& entry, const json& common, PaperTable& table) {
  json scenario = common;
  scenario.merge_patch(entry.value("scenario", json::object()));
  table.scenario = scenario.dump();
  const json patches = entry.value("patches", json::object());
  for (const auto& [column, cases] : patches.items()) {
    below("/patches", [&, name = column] { column_of(table, name); });
    for (const auto& [text, patch] : cases.items()) table.patches[column][text] = patch.dump();
  }
}

PaperTable table_of(const json& entry, const json& common, const std::string& folder,
                    const Paper& paper) {
  PaperTable table;
  take(entry, "name", table.name);
  take(entry, "is", table.is);
  take(entry, "unit", table.unit);
  take(entry, "note", table.note);
  take(entry, "columns", table.columns);
  take(entry, "label", table.label);
  take(entry, "simulated", table.simulated);
  take(entry, "published", table.published);
  if (table.label.empty()) table.label = table.columns;
  below("/label", [&] { check_columns(table.label, table); });
  table.names = pairs_of(entry, "names");
  table.set = pairs_of(entry, "set");
  table.results = pairs_of(entry, "results");
  table.shown = pairs_of(entry, "shown");
  read_rows(entry, folder, table);
  read_scenario_parts(entry, common, table);
  if (entry.contains("reference")) {
    table.reference = below("/reference", [&] { return reference_of(entry["reference"], table); });
  }
  for (std::size_t i = 0; i < entry["judgements"].size(); ++i) {
    table.judgements.push_back(below(fmt::format("/judgements/{}", i), [&] {
      return judgement_of(entry["judgements"][i], table, paper);
    }));
  }
  return table;
}

/// A name used twice would hide one of the two values.
void check_names(const Paper& paper) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < paper.constants.size(); ++i) {
    if (names.insert(paper.constants[i].name).second) continue;
    throw InputError(fmt::format("/constants/{}/name", i),
                     fmt::format("\"{}\" is the name of another", paper.constants[i].name));
  }
  names.clear();
  for (std::size_t i = 0; i < paper.tables.size(); ++i) {
    if (names.insert(paper.tables[i].name).second) continue;
    throw InputError(fmt::format("/tables/{}/name", i),
                     fmt::format("\"{}\" is the name of another", paper.tables[i].name));
  }
}

/// Judgements may be fitted to later tables, or to tables of another file.
void check_fitted_tables(const Paper& paper) {
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    const auto& judgements = paper.tables[t].judgements;
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      if (!judgements[j].fit || judgements[j].fit->table.empty()) continue;
      const std::string& name = judgements[j].fit->table;
      const std::string where = fmt::format("/tables/{}/judgements/{}/fit", t, j);
      const auto found = std::find_if(paper.tables.begin(), paper.tables.end(),
                                      [&](const PaperTable& table) { return table.name == name; });
      if (found == paper.tables.end()) continue;  // its constants may be given
      below(where + "/apart", [&] { check_columns(judgements[j].fit->apart, *found); });
    }
  }
}

Paper paper_of(const json& document, const std::string& folder) {
  Paper paper;
  take(document, "title", paper.title);
  take(document, "source", paper.source);
  take(document, "notes", paper.notes);
  const json constants = document.value("constants", json::array());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    paper.constants.push_back(
        below(fmt::format("/constants/{}", i), [&] { return constant_of(constants[i]); }));
  }
  const json common = document.value("scenario", json::object());
  for (std::size_t i = 0; i < document["tables"].size(); ++i) {
    paper.tables.push_back(below(fmt::format("/tables/{}", i), [&] {
      return table_of(document["tables"][i], common, folder, paper);
    }));
  }
  check_names(paper);
  check_fitted_tables(paper);
  return paper;
}

}  // namespace

std::size_t column_of(const PaperTable& table, std::string_view name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found != table.columns.end()) {
    return static_cast<std::size_t>(found - table.columns.begin());
  }
  throw InputError("", fmt::format("there is no column \"{}\"; columns: {}", name,
                                   fmt::join(table.columns, ", ")));
}

Paper read_paper(const std::string& path) {
  const std::string text = read_file(path);
  try {
    static const Schema schema(json::parse(paper_schema()));
    const json document = parse_json(text);
    schema.check(document);
    Paper paper = paper_of(document, std::filesystem::path(path).parent_path().string());
    paper.source_file = path;
    return paper;
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

}  // namespace penstock
