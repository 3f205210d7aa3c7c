#include "experiments/measure/reproduction/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "validate/calibration/fit.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using Sets = std::vector<const GivenSet*>;

constexpr std::string_view of_one_row = "without ";

std::vector<GivenSet> sets_of_json(const json& document) {
  std::vector<GivenSet> sets;
  for (const json& paper : document.is_array() ? document : json::array({document})) {
    for (const json& table : paper.at("tables")) {
      for (const json& judgement : table.at("judgements")) {
        for (const json& found : judgement.at("constants")) {
          const auto apart = found.at("apart").get<std::vector<std::string>>();
          sets.push_back({table.at("name"), judgement.at("name"),
                          fmt::format("{}", fmt::join(apart, " ")),
                          found.at("values").get<Names>()});
        }
      }
    }
  }
  return sets;
}

bool has_all(const GivenSet& set, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return set.values.contains(name); });
}

/// The sets with all constants of a judgement: of the judgement, else of its tables, else all.
Sets candidates(const GivenConstants& given, const PaperTable& table, const Judgement& judgement) {
  const auto those = [&](auto fits) {
    Sets sets;
    for (const GivenSet& set : given.sets) {
      if (has_all(set, judgement.fit->constants) && fits(set)) sets.push_back(&set);
    }
    return sets;
  };
  const auto of_tables = [&](const GivenSet& set) {
    return set.table == table.name || set.table == judgement.fit->table;
  };
  Sets sets = those([&](const GivenSet& set) {
    return set.table == table.name && set.judgement == judgement.name;
  });
  if (sets.empty()) sets = those(of_tables);
  return sets.empty() ? those([](const GivenSet&) { return true; }) : sets;
}

const GivenSet* set_of(const Sets& sets, const std::string& apart) {
  const auto found = std::ranges::find(sets, apart, &GivenSet::apart);
  return found == sets.end() ? nullptr : *found;
}

Names geometric_mean(const Sets& sets, const std::vector<std::string>& names) {
  Names mean;
  for (const std::string& name : names) {
    double sum = 0;
    for (const GivenSet* set : sets) sum += portable_log(set->values.at(name));
    mean[name] = portable_exp(sum / static_cast<double>(sets.size()));
  }
  return mean;
}

[[noreturn]] void refuse(const GivenConstants& given, const PaperTable& table,
                         const Judgement& judgement, const std::string& group) {
  std::vector<std::string> known;
  for (const GivenSet& set : given.sets) {
    std::string text = fmt::format("\"{}\"", set.table);
    if (!set.apart.empty()) {
      text += fmt::format(" ({})", set.apart.starts_with(of_one_row) ? "single rows" : set.apart);
    }
    if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
  }
  throw in_file(
      given.source_file,
      InputError(
          "", fmt::format("it has no {} for table \"{}\"{}{}; it has constants of {}",
                          fmt::join(judgement.fit->constants, ", "), table.name,
                          group.empty() ? "" : ", group ", group,
                          known.empty() ? "no table" : fmt::format("{}", fmt::join(known, ", ")))));
}

InputError in_table(const TableCase& of, const std::string& what) {
  return in_file(of.paper.source_file, InputError(of.table.name, what));
}

TableCase fitted_case(const TableCase& judged, const Judgement& judgement) {
  const PaperTable* table = fitted_table(judged.paper, judged.table, judgement);
  if (table == nullptr) {
    throw in_table(judged, fmt::format("there is no table \"{}\" to fit \"{}\" to; give its "
                                       "constants with --constants",
                                       judgement.fit->table, judgement.name));
  }
  return {judged.paper, *table, judged.catalogue, judged.progress};
}

/// The rows of a group to which constants are fitted, without `without`.
std::vector<PaperRow> chosen_of(const std::vector<PaperRow>& all, const TableCase& of,
                                const PaperFit& choice, const std::vector<std::string>& group,
                                const PaperRow* without) {
  std::vector<PaperRow> rows;
  for (const PaperRow& row : all) {
    if (without != nullptr && row == *without) continue;
    if (cells_of(of.table, row, choice.apart) != group) continue;
    if (!is_reference(of, row) && holds(of, row, choice.rows)) rows.push_back(row);
  }
  return rows;
}

std::vector<FitRange> ranges_of(const Paper& paper, const PaperFit& choice) {
  std::vector<FitRange> ranges;
  for (const std::string& name : choice.constants) {
    ranges.push_back(std::ranges::find(paper.constants, name, &PaperConstant::name)->range);
  }
  return ranges;
}

/// The paper's constants, with these values for the fitted ones.
Names named(const Paper& paper, const PaperFit& choice, const Constants& values) {
  Names names = start_constants(paper);
  for (std::size_t i = 0; i < values.size(); ++i) names[choice.constants[i]] = values[i];
  return names;
}

double misfit_of(const TableCase& of, const RowValues& values) {
  const double ratio = values.simulated / values.published;
  if (std::isnormal(ratio) && ratio > 0) return portable_log(ratio);
  throw in_table(of, fmt::format("constants are fitted to values above zero; published {}, "
                                 "simulated {}",
                                 values.published, values.simulated));
}

/// The rest of a line after its beginning.
std::optional<std::string_view> after(std::string_view line, std::string_view beginning) {
  if (!line.starts_with(beginning)) return std::nullopt;
  return line.substr(beginning.size());
}

/// Adds "name = 1.2 unit" to a set, and what is in front of the name to its group.
void take_constant(std::string_view text, GivenSet& set) {
  const std::size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return;
  std::string_view name = text.substr(0, equals);
  if (const std::size_t colon = name.rfind(": "); colon != std::string_view::npos) {
    set.apart = name.substr(0, colon);
    name.remove_prefix(colon + 2);
  }
  const std::string_view value = text.substr(equals + 3);
  if (const auto number = plain_number(value.substr(0, value.find(' ')))) {
    set.values[std::string(name)] = *number;
  }
}

/// "- group: one = 1.2 unit, two = 3 (fitted to 5 rows, 1 % off)".
GivenSet set_of_line(std::string_view line, std::string_view table, std::string_view judgement) {
  GivenSet set{std::string(table), std::string(judgement), {}, {}};
  line = line.substr(0, line.rfind(" (fitted to "));
  while (!line.empty()) {
    const std::size_t comma = line.find(", ");
    take_constant(line.substr(0, comma), set);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 2);
  }
  return set;
}

/// The sets of a Markdown file of `penstock reproduce -o`, with constants of four digits.
std::vector<GivenSet> sets_of_markdown(std::string_view text) {
  std::vector<GivenSet> sets;
  std::string_view table, judgement;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const auto title = after(line, "## ")) table = title->substr(0, title->find(": "));
    if (const auto name = after(line, "### ")) judgement = *name;
    const auto item = after(line, "- ");
    if (!item || item->find(" (fitted to ") == std::string_view::npos) continue;
    GivenSet set = set_of_line(*item, table, judgement);
    if (!set.values.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<GivenSet> sets_of(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string::npos && (text[begin] == '{' || text[begin] == '[');
  if (!is_json) return sets_of_markdown(text);
  try {
    return sets_of_json(parse_json(text));
  } catch (const json::exception&) {
    throw InputError("", "not a result of penstock reproduce --json");
  }
}

}  // namespace

GivenConstants read_constants(const std::string& path) {
  const std::string text = read_file(path);
  return about_file(path, [&] {
    GivenConstants given{path, sets_of(text)};
    if (!given.sets.empty()) return given;
    throw InputError("", "it has no constants; penstock reproduce -o writes those of a fit");
  });
}

FoundConstants constants_for(const GivenConstants& given, const PaperTable& table,
                             const Judgement& judgement, const std::vector<std::string>& group,
                             const std::vector<std::string>& label) {
  const std::string group_text = fmt::format("{}", fmt::join(group, " "));
  const Sets sets = candidates(given, table, judgement);
  const bool by_row =
      !sets.empty() && std::all_of(sets.begin(), sets.end(), [](const GivenSet* set) {
        return set->apart.starts_with(of_one_row);
      });
  const GivenSet* set = set_of(sets, fmt::format("{}{}", of_one_row, fmt::join(label, " ")));
  if (set == nullptr) set = set_of(sets, group_text);
  if (set == nullptr && sets.size() == 1) set = sets.front();
  if (set == nullptr && !by_row) refuse(given, table, judgement, group_text);
  FoundConstants found;
  found.source_file = given.source_file;
  found.values = set == nullptr ? geometric_mean(sets, judgement.fit->constants) : set->values;
  if (set != nullptr && !set->apart.empty()) found.apart = {set->apart};
  return found;
}

std::vector<PaperRow> rows_to_fit(const TableCase& of, const Judgement& judgement,
                                  const std::vector<std::string>& group,
                                  const std::vector<PaperRow>& judged, const PaperRow* without) {
  if (!judgement.fit) return {};
  const TableCase fitted = fitted_case(of, judgement);
  std::vector<PaperRow> rows = chosen_of(fitted.table.rows, fitted, *judgement.fit, group, without);
  if (!rows.empty() || &fitted.table != &of.table) return rows;
  return chosen_of(judged, fitted, *judgement.fit, group, without);
}

FoundConstants fit_constants(const TableCase& judged_case, const Judgement& judgement,
                             const std::vector<std::string>& group,
                             const std::vector<PaperRow>& judged, const PaperRow* without) {
  FoundConstants found{.apart = group, .values = start_constants(judged_case.paper)};
  if (!judgement.fit) return found;
  const PaperFit& choice = *judgement.fit;
  const TableCase of = fitted_case(judged_case, judgement);
  const std::vector<PaperRow> rows = rows_to_fit(judged_case, judgement, group, judged, without);
  if (rows.empty()) {
    throw in_table(of, fmt::format("there is no row to fit \"{}\" to{}{}", judgement.name,
                                   group.empty() ? "" : ", for ", fmt::join(group, " ")));
  }
  const std::vector<PaperRow>& others =
      &of.table == &judged_case.table ? judged : of.table.rows;  // where references are found
  const Fit best = fit(ranges_of(of.paper, choice), [&](const std::vector<Constants>& choices) {
    std::vector<Names> names;
    for (const Constants& values : choices) names.push_back(named(of.paper, choice, values));
    std::vector<std::vector<double>> misfits;
    for (const auto& of_choice : row_values(of, rows, others, names)) {
      std::vector<double>& row_misfits = misfits.emplace_back();
      for (const RowValues& values : of_choice) row_misfits.push_back(misfit_of(of, values));
    }
    return misfits;
  });
  found.values = named(of.paper, choice, best.constants);
  found.misfit = best.misfit;
  found.rows = rows.size();
  return found;
}

}  // namespace penstock
