#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/reproduction/row_values.hpp"
#include "experiments/run/run.hpp"
#include "experiments/run/timing/questions.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"

namespace penstock {

using nlohmann::json;

/// A row of a table, with values for the paper's constants.
struct RowCase {
  const TableCase& of;
  const PaperRow& row;
  Names constants = start_constants(of.paper);
};

namespace {

constexpr const char* published_place = "/published";

std::string label_of(const RowCase& row) {
  return fmt::format("{}, row {}", row.of.table.name,
                     fmt::join(cells_of(row.of.table, row.row, row.of.table.label), " "));
}

/// The cell that gives the value at a pointer: of the scenario, or "/published". Nothing where a
/// formula does.
const PaperCell* cell_at(const RowCase& row, const std::string& pointer) {
  const PaperTable& table = row.of.table;
  const auto set = std::ranges::find(table.set, pointer, [](const auto& one) { return one.first; });
  const std::string& value = pointer == published_place ? table.published
                             : set != table.set.end()   ? set->second
                                                        : pointer;
  const auto column = std::ranges::find(table.columns, value);
  return column == table.columns.end()
             ? nullptr
             : &row.row[static_cast<std::size_t>(column - table.columns.begin())];
}

/// The error at the row, in the file that has it; an error of another file keeps that.
InputError at_row(const RowCase& row, const InputError& error) {
  const auto& first = row.row.front().place;
  if (!first) return {row.of.paper.source_file, label_of(row), error.text()};
  const bool of_row = error.file().empty() || error.file() == row.of.paper.source_file;
  const PaperCell* cell = of_row ? cell_at(row, error.where()) : nullptr;
  const std::string column = cell == nullptr ? "" : fmt::format(", column {}", cell->place->column);
  const std::string text =
      of_row ? InputError(error.where(), error.message()).text() : error.text();
  return {first->file, fmt::format("row {}{}", first->row, column),
          row.of.table.name + ": " + text};
}

/// Adds the row to the errors of a step.
template <class Step>
auto about(const RowCase& row, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw at_row(row, error);
  }
}

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

void add_columns(const RowCase& row, Names& names) {
  for (const auto& [name, number] : numbers_of(row.of.table, row.row)) names[name] = number;
}

void add_formulas(const NamedTexts& formulas, Names& names) {
  for (const auto& [name, formula] : formulas) names[name] = value_of(formula, names);
}

Names names_of(const RowCase& row) {
  Names names = row.constants;
  add_columns(row, names);
  add_formulas(row.of.table.names, names);
  return names;
}

/// The value of a column, or of a formula.
json value_for(const std::string& text, const RowCase& row, const Names& names) {
  for (std::size_t i = 0; i < row.row.size(); ++i) {
    if (row.of.table.columns[i] == text) return json::parse(row.row[i].json);
  }
  return json::parse(number_cell(value_of(text, names)).json);
}

/// An index must be within its list: beyond the end, the list would be filled up with null.
void check_lists(const json& scenario, json::json_pointer place) {
  for (; !place.empty(); place.pop_back()) {
    const json::json_pointer list = place.parent_pointer();
    if (!scenario.contains(list) || !scenario.at(list).is_array()) continue;
    if (!scenario.contains(place)) {
      throw InputError(
          "", fmt::format("\"{}\" under \"set\" leads nowhere in the scenario: the list has {}",
                          place.to_string(), counted(scenario.at(list).size(), "item")));
    }
  }
}

void put(json& scenario, const std::string& pointer, json value) {
  try {
    check_lists(scenario, json::json_pointer(pointer));
    scenario[json::json_pointer(pointer)] = std::move(value);
  } catch (const json::exception& error) {
    throw InputError("", fmt::format("\"{}\" under \"set\" leads nowhere in the scenario: {}",
                                     pointer, error.what()));
  }
}

void apply_patches(const RowCase& row, json& scenario) {
  for (const auto& [column, cases] : row.of.table.patches) {
    const std::string value = text_of(row.row[column_of(row.of.table, column)]);
    const auto found = cases.find(value);
    if (found == cases.end()) {
      throw InputError("", fmt::format("\"patches\" of column {} have none for {}", column, value));
    }
    scenario.merge_patch(json::parse(found->second));
  }
}

/// Replaces texts that begin with "=" by the values of their formulas.
void work_out(json& value, const Names& names) {
  if (value.is_structured()) {
    for (json& part : value) work_out(part, names);
  } else if (value.is_string() && value.get_ref<const std::string&>().starts_with('=')) {
    value = json::parse(number_cell(value_of(value.get<std::string>().substr(1), names)).json);
  }
}

json patched_scenario(const RowCase& row) {
  json scenario = json::parse(row.of.table.scenario);
  scenario["penstock"] = 1;
  apply_patches(row, scenario);
  return scenario;
}

void put_all(const RowCase& row, const NamedTexts& values, const Names& names, json& scenario) {
  for (const auto& [pointer, value] : values) put(scenario, pointer, value_for(value, row, names));
}

/// Formulas that depend on the constants of a paper.
class Dependence {
 public:
  explicit Dependence(const RowCase& row) : row_(row) {
    for (const auto& constant : row.constants) names_.push_back(constant.first);
    for (const auto& [name, formula] : row.of.table.names) {
      if (of(formula)) names_.push_back(name);
    }
  }

  /// Whether any of these names occurs in a formula. A part of another name counts too.
  bool of(const std::string& formula) const {
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return formula.find(name) != std::string::npos;
    });
  }
  /// Whether a text anywhere in a document begins with "=" and is such a formula.
  bool in(const json& value) const {
    if (value.is_structured()) {
      return std::any_of(value.begin(), value.end(), [&](const json& part) { return in(part); });
    }
    return value.is_string() && value.get_ref<const std::string&>().starts_with('=') &&
           of(value.get_ref<const std::string&>());
  }
  /// Whether any of the values under "set" is within another.
  bool nested() const {
    for (const auto& [pointer, value] : row_.of.table.set) {
      for (const auto& other : row_.of.table.set) {
        if (other.first.starts_with(pointer + "/")) return true;
      }
    }
    return false;
  }

 private:
  const RowCase& row_;
  std::vector<std::string> names_;
};

double number_at(const nlohmann::ordered_json& document, const std::string& name,
                 const std::string& pointer) {
  const nlohmann::ordered_json::json_pointer place(pointer);
  if (!document.contains(place) || !document.at(place).is_number()) {
    throw InputError("", fmt::format("the result \"{}\" has no number at {}", name, pointer));
  }
  return document.at(place);
}

/// The number at a pointer; with a "*" in the pointer, the largest of all matches.
double result_at(const nlohmann::ordered_json& document, const std::string& name,
                 const std::string& pointer) {
  const std::size_t star = (pointer + "/").find("/*/");
  if (star == std::string::npos) return number_at(document, name, pointer);
  const nlohmann::ordered_json::json_pointer list(pointer.substr(0, star));
  if (!document.contains(list) || document.at(list).empty()) {
    throw InputError("", fmt::format("the result \"{}\" has nothing at {}", name, pointer));
  }
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& item : document.at(list)) {
    largest = std::max(largest, number_at(item, name, pointer.substr(star + 2)));
  }
  return largest;
}

/// The first part of each pointer: the document keys with the results.
std::set<std::string> keys_of(const PaperTable& table) {
  std::set<std::string> keys;
  for (const auto& [name, pointer] : table.results) {
    keys.insert(pointer.substr(1, pointer.find('/', 1) - 1));
  }
  return keys;
}

void take_results(const RowCase& row, const nlohmann::ordered_json& document, Names& names) {
  for (const auto& [name, pointer] : row.of.table.results) {
    try {
      names[name] = result_at(document, name, pointer);
    } catch (const json::exception& error) {
      throw InputError("", fmt::format("the result \"{}\": {}", name, error.what()));
    }
  }
}

/// Answers what a row asks, adds the results to the names, and returns a finding of its run.
std::string ask(const RowCase& row, const json& scenario, Names& names) {
  if (row.of.table.asks == RowAsks::timing) {
    take_results(row, timed(*row.of.catalogue, scenario), names);
    return "";
  }
  const RunResult result =
      run(settle(scenario_from(scenario, row.of.paper.source_file),
                 {.catalogue = row.of.catalogue, .clusters = row.of.clusters}));
  if (!result.report) {
    throw InputError("", fmt::format("its run does not finish: {}", result.findings.front().text));
  }
  const std::set<std::string> keys = keys_of(row.of.table);
  take_results(row, result_json(result, &keys), names);
  return result.findings.empty() ? "" : result.findings.front().text;
}

}  // namespace

Names start_constants(const Paper& paper) {
  Names names;
  for (const PaperConstant& constant : paper.constants) names[constant.name] = constant.range.start;
  return names;
}

bool holds(const TableCase& table, const PaperRow& row, const std::string& formula) {
  const RowCase one{table, row};
  return about(one, [&] { return value_of(formula, names_of(one)) != 0; });
}

std::string scenario_of(const TableCase& table, const PaperRow& row) {
  const RowCase one{table, row};
  return about(one, [&] {
    const Names names = names_of(one);
    json scenario = patched_scenario(one);
    work_out(scenario, names);
    put_all(one, table.table.set, names, scenario);
    return scenario.dump(2);
  });
}

struct PreparedRow::Parts {
  RowCase row;               // with constants where their search starts
  json scenario;             // as far as it is the same for all constants
  Names names;               // of formulas that are the same for all constants
  NamedTexts formulas, set;  // those left
  bool has_texts = false;    // formulas among the texts of the scenario are left
};

PreparedRow::PreparedRow(const TableCase& of, const PaperRow& row) {
  const PaperTable& table = of.table;
  Parts parts{{of, row}, {}, {}, {}, {}};
  about(parts.row, [&] {
    const Dependence depends(parts.row);
    Names names = parts.row.constants;
    add_columns(parts.row, names);
    for (const auto& named : table.names) {
      if (depends.of(named.second)) {
        parts.formulas.push_back(named);
      } else {
        add_formulas({named}, names);
        parts.names[named.first] = names[named.first];
      }
    }
    if (table.results.empty()) return;
    parts.scenario = patched_scenario(parts.row);
    parts.has_texts = depends.in(parts.scenario);
    const bool all_left = parts.has_texts || depends.nested();
    if (!parts.has_texts) work_out(parts.scenario, names);
    for (const auto& entry : table.set) {
      if (all_left || depends.of(entry.second)) {
        parts.set.push_back(entry);
      } else {
        put_all(parts.row, {entry}, names, parts.scenario);
      }
    }
  });
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

RowValues PreparedRow::simulate(const Names& constants) const {
  const RowCase& row = parts_->row;
  return about(row, [&] {
    RowValues values;
    Names names = row.constants;
    for (const auto& [name, value] : constants) names[name] = value;
    add_columns(row, names);
    for (const auto& [name, value] : parts_->names) names[name] = value;
    add_formulas(parts_->formulas, names);
    values.published = row.of.table.published.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                      : value_of(row.of.table.published, names);
    if (values.published < 0) {
      throw InputError(published_place,
                       fmt::format("it is {:.6g}; it must not be below 0", values.published));
    }
    if (!row.of.table.results.empty()) {
      json scenario = parts_->scenario;
      if (parts_->has_texts) work_out(scenario, names);
      put_all(row, parts_->set, names, scenario);
      values.finding = ask(row, scenario, names);
    }
    values.simulated = value_of(row.of.table.simulated, names);
    for (const auto& [name, formula] : row.of.table.shown) {
      values.shown.push_back(value_of(formula, names));
    }
    return values;
  });
}

}  // namespace penstock
