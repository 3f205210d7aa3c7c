#include "experiments/measure/reproduction/constants_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/files.hpp"
#include "sim/base/error.hpp"
#include "sim/base/portable_math.hpp"
#include "validate/calibration/fit.hpp"

namespace penstock {
namespace {

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
    ranges.push_back(
        std::find_if(paper.constants.begin(), paper.constants.end(),
                     [&](const PaperConstant& constant) { return constant.name == name; })
            ->range);
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

}  // namespace

const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement) {
  if (!judgement.fit || judgement.fit->table.empty()) return &judged;
  const auto found =
      std::find_if(paper.tables.begin(), paper.tables.end(),
                   [&](const PaperTable& table) { return table.name == judgement.fit->table; });
  return found == paper.tables.end() ? nullptr : &*found;
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
