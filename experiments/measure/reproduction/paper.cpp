#include "experiments/measure/reproduction/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// A name of formulas.
Takes name() {
  return nlohmann::ordered_json{{"type", "string"}, {"pattern", "^[A-Za-z][A-Za-z0-9_]*$"}};
}
Takes names() { return list_of(name()); }
Takes formula_pairs() { return list_of(list_of(text(), 2, 2)); }

Takes any_object() { return nlohmann::ordered_json{{"type", "object"}}; }
Takes object_with(const Takes& values) {
  return nlohmann::ordered_json{{"type", "object"}, {"additionalProperties", values.schema()}};
}
Takes text_like(const char* pattern) {
  return nlohmann::ordered_json{{"type", "string"}, {"pattern", pattern}};
}

const Fields& constant_fields() {
  using C = PaperConstant;
  const Takes value = number(1e-12, 1e15);
  static const Fields fields{
      "",
      {field<&C::name>("name", name()), field<&C::is>("is", text(), "what it stands for"),
       field<&C::unit>("unit", text()),
       field<&C::range, &FitRange::start>("start", value,
                                          "where a fit starts, and what it is without one"),
       field<&C::range, &FitRange::least>("least", value),
       field<&C::range, &FitRange::most>("most", value)},
      {"name", "is", "start", "least", "most"}};
  return fields;
}

const Fields& fit_fields() {
  using F = PaperFit;
  static const Fields fields{
      "",
      {field<&F::constants>("constants", names()),
       field<&F::table>("table", text(), "whose rows; otherwise those of this table"),
       field<&F::rows>("rows", text(),
                       "a formula that says which rows constants are fitted to; 1: all"),
       field<&F::apart>("apart", names()),
       field<&F::on_others>("on_others", truth(),
                            "each row is judged by constants fitted to all others")},
      {"constants"}};
  return fields;
}

const Fields& judgement_fields() {
  using J = Judgement;
  static const Fields fields{
      "",
      {field<&J::name>("name", text()),
       {"fit", object_of(fit_fields())},
       field<&J::rows>("rows", text(), "a formula that says which rows are judged; 1: all"),
       field<&J::each>("each", number(0, 10), "the largest error of a row"),
       field<&J::mean>("mean", number(0, 10), "the mean of the sizes of errors"),
       field<&J::ranking>("ranking", number(-1, 1), "the least agreement of ranks, Kendall's tau"),
       field<&J::in_order>("in_order", number(0, 1),
                           "the least share of pairs of rows that are in the published order"),
       field<&J::apart>("apart", number(0, 10),
                        "only pairs whose published values differ by more are ranked, as the "
                        "logarithm of their ratio"),
       field<&J::ranked_by>("ranked_by", names())},
      {"name"}};
  return fields;
}

const Fields& reference_fields() {
  using R = PaperReference;
  static const Fields fields{
      "the row from which both values of each row are seen",
      {field<&R::row>("row", text(), "a formula that holds for that row"),
       field<&R::within>("within", names()),
       field<R>("as", words({"ratio", "difference"}), "",
                [](const json& as, R& reference) { reference.difference = as == "difference"; })},
      {"row"}};
  return fields;
}

const Fields& table_fields() {
  using T = PaperTable;
  static const Fields fields{
      "",
      {field<&T::name>("name", text_like("^[^/]+$")),
       field<&T::is>("is", text(), "what the numbers are"),
       field<&T::unit>("unit", text()),
       field<&T::note>("note", text(), "why they are off, or what was taken for granted"),
       field<&T::columns>("columns", names()),
       {"rows", list_of(nlohmann::ordered_json{{"type", "array"}}, 0, 100'000)},
       {"rows_file", text(), "a CSV file beside this one, instead of rows"},
       {"where", text(), "a formula over columns: the rows that the table has of those; 1: all"},
       field<&T::label>("label", names()),
       {"names", formula_pairs(),
        "pairs of a name and a formula over columns, constants and names before it"},
       field<&T::asks>("asks", words({"run", "timing"}),
                       "a run of the scenario, which is the default, or the time of one kernel or "
                       "collective"),
       {"scenario", any_object(),
        "merged into the scenario of all tables; a text that begins with = is a formula. For a "
        "timing: hardware, and a kernel or a collective"},
       {"patches", object_with(object_with(any_object())),
        "by column, then by its text: what is merged into the scenario of such a row"},
       {"set", object_with(text()),
        "pointers into the scenario: a column, as it stands, or a formula"},
       {"results", object_with(text_like("^/")),
        "names for pointers into the document of run, kernel or collective --json; with * for the "
        "items of a list, the largest of them"},
       field<&T::simulated>("simulated", text(),
                            "formula over columns, names, constants and results"),
       field<&T::published>("published", text(),
                            "formula over columns and names; without it rows are predictions"),
       {"shown", formula_pairs(),
        "further columns of the output: pairs of a head and a formula as in simulated"},
       {"reference", object_of(reference_fields())},
       {"judgements", list_of(object_of(judgement_fields()), 1)}},
      {"name", "is", "columns", "simulated", "judgements"}};
  return fields;
}

const Fields& paper_fields() {
  using P = Paper;
  static const Fields fields{
      "",
      {{"penstock", whole(1, 1), "version of the format"},
       field<&P::title>("title", text()),
       field<&P::source>("source", text(), "where the numbers were published"),
       field<&P::notes>("notes", list_of(text())),
       {"constants", list_of(object_of(constant_fields())),
        "numbers that the paper does not give; formulas name them"},
       {"scenario", any_object(), "what the scenarios of all tables have in common"},
       {"every_table", any_object(),
        "keys that each table has unless it has its own; objects are merged"},
       {"tables", list_of(object_of(table_fields()), 1, 100)}},
      {"penstock", "title", "source", "tables"}};
  return fields;
}

Pairs pairs_of(const json& table, const char* key) {
  const json stated = table.value(key, json::array());
  if (stated.is_array()) return stated.get<Pairs>();
  Pairs pairs;
  for (const auto& [name, value] : stated.items()) pairs.emplace_back(name, value);
  return pairs;
}

PaperRow row_of(const json& row, const PaperTable& table) {
  if (row.size() != table.columns.size()) {
    throw InputError("",
                     fmt::format("the row has {}; the table has {}", counted(row.size(), "cell"),
                                 counted(table.columns.size(), "column")));
  }
  PaperRow cells;
  for (const json& value : row) {
    PaperCell& cell = cells.emplace_back(PaperCell{value.dump(), std::nullopt});
    if (value.is_number()) cell.number = value.get<double>();
  }
  return cells;
}

PaperConstant constant_of(const json& entry) {
  PaperConstant constant;
  read_fields(constant_fields(), entry, &constant);
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
  read_fields(fit_fields(), entry, &fit);
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const auto known = std::ranges::find(paper.constants, fit.constants[i], &PaperConstant::name);
    if (known != paper.constants.end()) continue;
    throw InputError(fmt::format("/constants/{}", i),
                     fmt::format("there is no constant \"{}\"", fit.constants[i]));
  }
  return fit;
}

Judgement judgement_of(const json& entry, const PaperTable& table, const Paper& paper) {
  Judgement judgement;
  read_fields(judgement_fields(), entry, &judgement);
  below("/ranked_by", [&] { check_columns(judgement.ranked_by, table); });
  if (!entry.contains("fit")) return judgement;
  judgement.fit = below("/fit", [&] { return fit_of(entry["fit"], paper); });
  below("/fit/apart", [&] { check_columns(judgement.fit->apart, table); });
  return judgement;
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
  const std::string rows_file = resolve(folder, entry["rows_file"]);
  check_confined(rows_file);
  try {
    for (PaperRow& row : read_paper_rows(rows_file, table)) table.rows.push_back(std::move(row));
  } catch (const InputError& error) {
    throw leads_below(folder, rows_file) ? error : without_quotes(error);
  }
}

/// Leaves out rows that the table does not want.
void choose_rows(const json& entry, PaperTable& table) {
  if (!entry.contains("where")) return;
  std::erase_if(table.rows, [&](const PaperRow& row) {
    return below("/where", [&] { return value_of(entry["where"], numbers_of(table, row)) == 0; });
  });
  if (table.rows.empty()) throw InputError("/where", "no row is left");
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
  read_fields(table_fields(), entry, &table);
  if (table.label.empty()) table.label = table.columns;
  below("/label", [&] { check_columns(table.label, table); });
  table.names = pairs_of(entry, "names");
  table.set = pairs_of(entry, "set");
  table.results = pairs_of(entry, "results");
  table.shown = pairs_of(entry, "shown");
  read_rows(entry, folder, table);
  choose_rows(entry, table);
  read_scenario_parts(entry, common, table);
  if (entry.contains("reference")) {
    below("/reference", [&] {
      read_fields(reference_fields(), entry["reference"], &table.reference.emplace());
      below("/within", [&] { check_columns(table.reference->within, table); });
    });
  }
  for (std::size_t i = 0; i < entry["judgements"].size(); ++i) {
    table.judgements.push_back(below(fmt::format("/judgements/{}", i), [&] {
      return judgement_of(entry["judgements"][i], table, paper);
    }));
  }
  return table;
}

/// Each table with the keys that all tables share.
json with_shared_keys(json document) {
  const auto is = [&](const char* key, json::value_t type) {
    return document.is_object() && document.contains(key) && document[key].type() == type;
  };
  if (!is("every_table", json::value_t::object) || !is("tables", json::value_t::array)) {
    return document;  // the schema reports what is wrong
  }
  for (json& table : document["tables"]) {
    const json own = std::exchange(table, document["every_table"]);
    table.merge_patch(own);
  }
  return document;
}

/// A name used twice would hide one of the two values.
template <class Named>
void check_names(const char* list, const std::vector<Named>& all) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (names.insert(all[i].name).second) continue;
    throw InputError(fmt::format("/{}/{}/name", list, i),
                     fmt::format("\"{}\" is the name of another", all[i].name));
  }
}

/// Judgements may be fitted to later tables, or to tables of another file.
void check_fitted_tables(const Paper& paper) {
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    const auto& judgements = paper.tables[t].judgements;
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      const PaperTable* const fitted = fitted_table(paper, paper.tables[t], judgements[j]);
      if (!judgements[j].fit || fitted == nullptr) continue;  // its constants may be given
      below(fmt::format("/tables/{}/judgements/{}/fit/apart", t, j),
            [&] { check_columns(judgements[j].fit->apart, *fitted); });
    }
  }
}

Paper paper_of(const json& document, const std::string& folder) {
  Paper paper;
  read_fields(paper_fields(), document, &paper);
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
  check_names("constants", paper.constants);
  check_names("tables", paper.tables);
  check_fitted_tables(paper);
  return paper;
}

}  // namespace

std::string_view paper_schema() {
  static const std::string text = [] {
    ordered_json schema = schema_of(paper_fields(), "Published numbers, and how each is simulated");
    const ordered_json table = schema["properties"]["tables"]["items"];
    const ordered_json patch = patch_of(table).schema();
    schema["properties"]["tables"].erase("items");
    schema["if"]["required"] = {"every_table"};
    schema["then"]["properties"] = {{"every_table", patch}, {"tables", {{"items", patch}}}};
    schema["else"]["properties"]["tables"]["items"] = table;
    for (const ordered_json& key : table["required"]) {
      ordered_json& either = schema["then"]["allOf"].emplace_back()["anyOf"];
      either[0]["properties"]["every_table"]["required"].push_back(key);
      either[1]["properties"]["tables"]["items"]["required"].push_back(key);
    }
    return printed(schema);
  }();
  return text;
}

const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement) {
  if (!judgement.fit || judgement.fit->table.empty()) return &judged;
  const auto found = std::ranges::find(paper.tables, judgement.fit->table, &PaperTable::name);
  return found == paper.tables.end() ? nullptr : &*found;
}

std::size_t column_of(const PaperTable& table, std::string_view name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found != table.columns.end()) {
    return static_cast<std::size_t>(found - table.columns.begin());
  }
  throw InputError("", fmt::format("there is no column \"{}\"; columns: {}", name,
                                   fmt::join(table.columns, ", ")));
}

Names numbers_of(const PaperTable& table, const PaperRow& row) {
  Names numbers;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].number) numbers[table.columns[i]] = *row[i].number;
  }
  return numbers;
}

Paper read_paper(const std::string& path) {
  const std::string text = read_configuration(path);
  return about_file(path, [&] {
    static const Schema schema(schema_of(paper_fields()));
    const json document = with_shared_keys(parse_json(text));
    schema.check(document);
    Paper paper = paper_of(document, std::filesystem::path(path).parent_path().string());
    paper.source_file = path;
    return paper;
  });
}

}  // namespace penstock
