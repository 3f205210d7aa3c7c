#include "experiments/reproduction/row_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/files/files.hpp"
#include "experiments/results/result_json.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

std::string label_of(const RowCase& row) {
  std::string text = row.table.name + ", row";
  for (const std::string& name : row.table.label) {
    text += " " + text_of(row.row[column_of(row.table, name)]);
  }
  return text;
}

/// Adds the row to the errors of a step.
template <class Step>
auto about(const RowCase& row, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(row.paper.source_file,
                  InputError(label_of(row),
                             error.where() + (error.where().empty() ? "" : ": ") + error.what()));
  }
}

Names names_of(const RowCase& row) {
  Names names = row.constants;
  for (std::size_t i = 0; i < row.row.size(); ++i) {
    if (row.row[i].number) names[row.table.columns[i]] = *row.row[i].number;
  }
  for (const auto& [name, formula] : row.table.names) names[name] = value_of(formula, names);
  return names;
}

/// The value of a column, or of a formula.
json value_for(const std::string& text, const RowCase& row, const Names& names) {
  for (std::size_t i = 0; i < row.row.size(); ++i) {
    if (row.table.columns[i] == text) return json::parse(row.row[i].json);
  }
  return json::parse(number_cell(value_of(text, names)).json);
}

/// An index must be within its list: beyond the end, the list would be filled up with null.
void check_lists(const json& scenario, json::json_pointer place) {
  for (; !place.empty(); place.pop_back()) {
    const json::json_pointer list = place.parent_pointer();
    if (!scenario.contains(list) || !scenario.at(list).is_array()) continue;
    if (!scenario.contains(place)) {
      throw InputError("", fmt::format("\"{}\" under \"set\" leads nowhere in the scenario: the "
                                       "list has {} items",
                                       place.to_string(), scenario.at(list).size()));
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
  for (const auto& [column, cases] : row.table.patches) {
    const std::string value = text_of(row.row[column_of(row.table, column)]);
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

json scenario_with(const RowCase& row, const Names& names) {
  json scenario = json::parse(row.table.scenario);
  scenario["penstock"] = 1;
  apply_patches(row, scenario);
  work_out(scenario, names);
  for (const auto& [pointer, value] : row.table.set) {
    put(scenario, pointer, value_for(value, row, names));
  }
  return scenario;
}

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
  const std::size_t star = pointer.find("/*/");
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

/// Runs the scenario of a row and adds its results to the names.
std::string take_results(const RowCase& row, Names& names) {
  if (row.table.results.empty()) return "";
  const RunResult result =
      run(settle(scenario_from(scenario_with(row, names), row.paper.source_file),
                 {.catalogue = row.catalogue}));
  if (!result.report) {
    throw InputError("", fmt::format("its run does not finish: {}", result.findings.front().text));
  }
  const nlohmann::ordered_json document = result_json(result, keys_of(row.table));
  for (const auto& [name, pointer] : row.table.results) {
    try {
      names[name] = result_at(document, name, pointer);
    } catch (const json::exception& error) {
      throw InputError("", fmt::format("the result \"{}\": {}", name, error.what()));
    }
  }
  return result.findings.empty() ? "" : result.findings.front().text;
}

}  // namespace

bool holds(const std::string& formula, const RowCase& row) {
  return about(row, [&] { return value_of(formula, names_of(row)) != 0; });
}

std::string scenario_of(const RowCase& row) {
  return about(row, [&] { return scenario_with(row, names_of(row)).dump(2); });
}

SimulatedRow simulate_row(const RowCase& row) {
  return about(row, [&] {
    SimulatedRow simulated;
    Names names = names_of(row);
    simulated.finding = take_results(row, names);
    simulated.value = value_of(row.table.simulated, names);
    return simulated;
  });
}

double published_by(const RowCase& row) {
  return about(row, [&] { return value_of(row.table.published, names_of(row)); });
}

}  // namespace penstock
