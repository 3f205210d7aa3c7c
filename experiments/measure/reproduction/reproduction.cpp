#include "experiments/measure/reproduction/reproduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/measure/reproduction/reproduced_rows.hpp"
#include "experiments/measure/reproduction/row_values.hpp"
#include "sim/base/error.hpp"
#include "sim/base/portable_math.hpp"
#include "validate/calibration/fit.hpp"

namespace penstock {
namespace {

/// The table to whose rows the constants of a judgement are fitted; null if the paper lacks it.
const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement);

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
    ranges.push_back(std::ranges::find_if(paper.constants, [&](const PaperConstant& constant) {
                       return constant.name == name;
                     })->range);
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

const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement) {
  if (!judgement.fit || judgement.fit->table.empty()) return &judged;
  const auto found = std::ranges::find_if(
      paper.tables, [&](const PaperTable& table) { return table.name == judgement.fit->table; });
  return found == paper.tables.end() ? nullptr : &*found;
}

/// The rows of one group to which the constants of a judgement are fitted, except `without`: rows
/// of the table that it names, or of `judged` if it names none and is the judged table.
std::vector<PaperRow> rows_to_fit(const TableCase& of, const Judgement& judgement,
                                  const std::vector<std::string>& group,
                                  const std::vector<PaperRow>& judged, const PaperRow* without) {
  if (!judgement.fit) return {};
  const TableCase fitted = fitted_case(of, judgement);
  std::vector<PaperRow> rows = chosen_of(fitted.table.rows, fitted, *judgement.fit, group, without);
  if (!rows.empty() || &fitted.table != &of.table) return rows;
  return chosen_of(judged, fitted, *judgement.fit, group, without);
}

/// Fits the constants of a judgement to the rows of one group. Without a fit they keep their start
/// values. Throws InputError if there is no such row or table.
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

using RowIndices = std::vector<std::size_t>;

bool is_among(const std::vector<PaperRow>& rows, const PaperRow& row) {
  return std::ranges::find(rows, row) != rows.end();
}

/// One judgement of a table, over its judged rows.
class Judging {
 public:
  Judging(const TableCase& of, const Judgement& judgement, const std::vector<PaperRow>& rows,
          const ReproduceOptions& options)
      : of_(of), judgement_(judgement), rows_(rows), options_(options) {
    judged_.name = judgement.name;
    judged_.tells_unjudged = options.other || options.constants || judgement.anchor;
    for (const PaperRow& row : rows) {
      ReproducedRow& one = judged_.rows.emplace_back();
      one.label = cells_of(of.table, row, of.table.label);
      one.ranked = holds(of, row, judgement.rows);
      one.reference = is_reference(of, row);
      if (of.table.published.empty()) one.predicted = true;
      one.ranked = one.ranked && !one.predicted;
      one.judged = one.ranked && !one.reference;
    }
  }

  JudgedTable run() {
    if (judgement_.fit && options_.constants) {
      judge_by_given();
    } else if (judgement_.fit && judgement_.fit->on_others) {
      for (std::size_t row = 0; row < rows_.size(); ++row) judge_by_others(row);
    } else {
      for (const RowIndices& members : groups()) judge_by_own(members);
    }
    if (judgement_.anchor) scale_by(judged_.rows[*judgement_.anchor]);
    sum_up(judgement_, of_.table, rows_, judged_);
    return std::move(judged_);
  }

 private:
  std::vector<std::string> group_of(std::size_t row) const {
    if (!judgement_.fit) return {};
    return cells_of(of_.table, rows_[row], judgement_.fit->apart);
  }

  /// Rows with the same constants.
  std::vector<RowIndices> groups() const {
    std::vector<RowIndices> groups;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto found = std::ranges::find_if(groups, [&](const RowIndices& group) {
        return group_of(group.front()) == group_of(row);
      });
      if (found == groups.end()) {
        groups.push_back({row});
      } else {
        found->push_back(row);
      }
    }
    return groups;
  }

  void judge_by_own(const RowIndices& members) {
    const std::vector<std::string> group = group_of(members.front());
    FoundConstants found = fit_constants(of_, judgement_, group, rows_, nullptr);
    fill_in(members, found.values);
    mark_fitted(members);
    if (judgement_.fit) judged_.constants.push_back(std::move(found));
  }

  /// Rows of one group are not judged by constants fitted to them.
  void mark_fitted(const RowIndices& members) {
    if (fitted_table(of_.paper, of_.table, judgement_) != &of_.table) return;
    const std::vector<PaperRow> fitted =
        rows_to_fit(of_, judgement_, group_of(members.front()), rows_, nullptr);
    for (const std::size_t row : members) {
      ReproducedRow& one = judged_.rows[row];
      one.fitted = is_among(fitted, rows_[row]) &&
                   (!options_.constants || is_among(of_.table.rows, rows_[row]));
      if (one.fitted) one.judged = one.ranked = false;
    }
  }

  /// Rows with the same given constants are simulated together.
  void judge_by_given() {
    std::vector<RowIndices> members;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      FoundConstants found = constants_for(*options_.constants, of_.table, judgement_,
                                           group_of(row), judged_.rows[row].label);
      Names values = start_constants(of_.paper);
      for (const std::string& name : judgement_.fit->constants) values[name] = found.values[name];
      found.values = std::move(values);
      auto& all = judged_.constants;
      const auto known = std::ranges::find_if(all, [&](const FoundConstants& one) {
        return one.apart == found.apart && one.values == found.values;
      });
      const auto place = static_cast<std::size_t>(known - all.begin());
      if (known == all.end()) {
        all.push_back(std::move(found));
        members.emplace_back();
      }
      members[place].push_back(row);
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      fill_in(members[i], judged_.constants[i].values);
    }
    if (judgement_.fit->on_others) return;
    for (const RowIndices& group : groups()) mark_fitted(group);
  }

  void judge_by_others(std::size_t row) {
    std::vector<PaperRow> others = rows_to_fit(of_, judgement_, group_of(row), rows_, &rows_[row]);
    const auto known =
        std::ranges::find_if(fits_, [&](const auto& fit) { return fit.first == others; });
    if (known != fits_.end()) return fill_in({row}, known->second);
    FoundConstants found = fit_constants(of_, judgement_, group_of(row), rows_, &rows_[row]);
    fill_in({row}, found.values);
    fits_.emplace_back(std::move(others), found.values);
    if (is_among(of_.table.rows, rows_[row]) || !options_.other) {
      found.apart = {fmt::format("without {}", fmt::join(judged_.rows[row].label, " "))};
    }
    judged_.constants.push_back(std::move(found));
  }

  void fill_in(const RowIndices& members, const Names& constants) {
    std::vector<PaperRow> rows;
    for (const std::size_t row : members) rows.push_back(rows_[row]);
    const std::vector<RowValues> values = row_values(of_, rows, rows_, {constants}).front();
    for (std::size_t i = 0; i < members.size(); ++i) {
      ReproducedRow& row = judged_.rows[members[i]];
      row.published = values[i].published;
      row.simulated = values[i].simulated;
      take_error(row);
      row.finding = values[i].finding;
      row.shown = values[i].shown;
    }
  }

  void take_error(ReproducedRow& row) const {
    row.error = row.simulated == row.published ? 0 : row.simulated / row.published - 1;
    if (!std::isfinite(row.error) && row.judged) refuse(row);
  }

  /// Scales the other rows by the published value of one.
  void scale_by(ReproducedRow& anchor) {
    const double scale = anchor.published / anchor.simulated;
    if (!std::isnormal(scale)) refuse(anchor);
    anchor.judged = anchor.ranked = false;
    anchor.anchor = true;
    for (ReproducedRow& row : judged_.rows) {
      if (!row.reference) row.simulated *= scale;
      take_error(row);
    }
  }

  [[noreturn]] void refuse(const ReproducedRow& row) const {
    throw in_file(of_.paper.source_file,
                  InputError(of_.table.name,
                             fmt::format("row {} has no error: published {}, simulated {}",
                                         fmt::join(row.label, " "), row.published, row.simulated)));
  }

  const TableCase& of_;
  const Judgement& judgement_;
  const std::vector<PaperRow>& rows_;
  const ReproduceOptions& options_;
  JudgedTable judged_;
  std::vector<std::pair<std::vector<PaperRow>, Names>> fits_;  // rows, constants fitted to them
};

/// The rows to judge; none for a table that is left out.
const std::vector<PaperRow>* judged_rows(const PaperTable& table,
                                         const std::optional<OtherRows>& other) {
  if (!other) return &table.rows;
  return other->table == table.name ? &other->rows : nullptr;
}

RowProgress expected_rows(const Paper& paper, const ReproduceOptions& options) {
  RowProgress progress(options.on_progress);
  for (const PaperTable& table : paper.tables) {
    const auto* rows = judged_rows(table, options.other);
    if (rows == nullptr) continue;
    for (Judgement judgement : table.judgements) {
      if (options.constants) judgement.fit.reset();
      progress.expect(judgement, rows->size());
    }
  }
  return progress;
}

std::string label_of(const PaperTable& table, const PaperRow& row) {
  std::string label;
  for (const std::string& name : table.label) label += " " + text_of(row[column_of(table, name)]);
  return label;
}

}  // namespace

bool Reproduction::met() const {
  for (const ReproducedTable& table : tables) {
    for (const JudgedTable& judged : table.judgements) {
      if (!judged.met) return false;
    }
  }
  return true;
}

Reproduction reproduce(const Paper& paper, const ReproduceOptions& options) {
  const Catalogue catalogue = read_catalogue();
  RowProgress progress = expected_rows(paper, options);
  Reproduction reproduction;
  for (const PaperTable& table : paper.tables) {
    ReproducedTable& reproduced = reproduction.tables.emplace_back();
    const auto* rows = judged_rows(table, options.other);
    if (rows == nullptr) continue;
    const TableCase of{paper, table, catalogue, &progress};
    for (const Judgement& judgement : table.judgements) {
      progress.begin_judgement();
      reproduced.judgements.push_back(Judging(of, judgement, *rows, options).run());
    }
  }
  return reproduction;
}

Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants) {
  std::erase_if(paper.tables, [&](const PaperTable& one) { return one.name != table; });
  if (paper.tables.empty()) throw InputError(fmt::format("there is no table \"{}\"", table));
  PaperTable& only = paper.tables.front();
  Judgement judgement;
  judgement.name = fmt::format("scaled by row {}:{}", row + 1, label_of(only, rows[row]));
  judgement.anchor = row;
  if (has_constants) judgement.fit = only.judgements.front().fit;
  only.judgements = {judgement};
  return paper;
}

}  // namespace penstock
