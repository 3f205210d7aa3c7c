#include "experiments/measure/reproduction/reproduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/files.hpp"
#include "experiments/measure/reproduction/row_values.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool agree(const PaperTable& table, const PaperRow& a, const PaperRow& b,
           const std::vector<std::string>& columns) {
  return std::all_of(columns.begin(), columns.end(), [&](const std::string& name) {
    const std::size_t column = column_of(table, name);
    return a[column] == b[column];
  });
}

int sign(double value) { return (value > 0) - (value < 0); }

/// Whether one value is more than exp(`least`) times the other; values of other signs are apart.
bool are_apart(double a, double b, double least) {
  return least == 0 || a / b <= 0 || std::abs(std::log(a / b)) > least;
}

/// Kendall's tau: of all pairs with published values far enough apart, those in the same order in
/// simulation minus those in the opposite order, over all of them.
void rank(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
          JudgedTable& judged) {
  double agreement = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const ReproducedRow &a = judged.rows[i], &b = judged.rows[k];
      if (!a.ranked || !b.ranked || !agree(table, rows[i], rows[k], judgement.ranked_by)) continue;
      const int published = sign(a.published - b.published);
      if (published == 0 || !are_apart(a.published, b.published, judgement.apart)) continue;
      const int agreed = published * sign(a.simulated - b.simulated);
      ++judged.ranked_pairs;
      if (agreed > 0) ++judged.pairs_in_order;
      agreement += agreed;
    }
  }
  if (judged.ranked_pairs == 0) return;
  judged.ranking = agreement / static_cast<double>(judged.ranked_pairs);
}

/// The errors of some rows; those that are not finite do not count.
template <class Chosen>
ErrorTotals totals_of(const std::vector<ReproducedRow>& rows, Chosen chosen) {
  ErrorTotals totals;
  for (const ReproducedRow& row : rows) {
    if (!chosen(row) || !std::isfinite(row.error)) continue;
    ++totals.rows;
    totals.mean += std::abs(row.error);
    totals.bias += row.error;
    if (std::abs(row.error) > std::abs(totals.worst)) totals.worst = row.error;
  }
  const double count = std::max<double>(1, static_cast<double>(totals.rows));
  totals.mean /= count;
  totals.bias /= count;
  return totals;
}

/// Fills in the totals over the judged rows of a table, and whether its targets are met.
void sum_up(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
            JudgedTable& judged) {
  judged.judged = totals_of(judged.rows, [](const ReproducedRow& row) { return row.judged; });
  judged.unjudged = totals_of(judged.rows, [](const ReproducedRow& row) {
    return !row.judged && !row.fitted && !row.anchor && !row.reference;
  });
  const bool has_target =
      judgement.each || judgement.mean || judgement.ranking || judgement.in_order;
  judged.met = !has_target || judged.judged.rows > 0;
  if (judgement.each) judged.met = judged.met && std::abs(judged.judged.worst) <= *judgement.each;
  if (judgement.mean) judged.met = judged.met && judged.judged.mean <= *judgement.mean;
  if (!judgement.ranking && !judgement.in_order) return;
  rank(judgement, table, rows, judged);
  judged.met = judged.met && judged.ranked_pairs > 0;
  if (judgement.ranking) judged.met = judged.met && *judged.ranking >= *judgement.ranking;
  if (judgement.in_order) judged.met = judged.met && share_in_order(judged) >= *judgement.in_order;
}

using RowIndices = std::vector<std::size_t>;

bool is_among(const std::vector<PaperRow>& rows, const PaperRow& row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
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
      const auto found = std::find_if(groups.begin(), groups.end(), [&](const RowIndices& group) {
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
      const auto known = std::find_if(all.begin(), all.end(), [&](const FoundConstants& one) {
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
    const auto known = std::find_if(fits_.begin(), fits_.end(),
                                    [&](const auto& fit) { return fit.first == others; });
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

}  // namespace

Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants) {
  std::erase_if(paper.tables, [&](const PaperTable& one) { return one.name != table; });
  if (paper.tables.empty()) throw InputError(fmt::format("there is no table \"{}\"", table));
  PaperTable& only = paper.tables.front();
  Judgement judgement;
  judgement.name = fmt::format("scaled by row {}: {}", row + 1,
                               fmt::join(cells_of(only, rows[row], only.label), " "));
  judgement.anchor = row;
  if (has_constants) judgement.fit = only.judgements.front().fit;
  only.judgements = {judgement};
  return paper;
}

bool Reproduction::met() const {
  return std::all_of(tables.begin(), tables.end(), [](const ReproducedTable& table) {
    return std::all_of(table.judgements.begin(), table.judgements.end(),
                       [](const JudgedTable& judged) { return judged.met; });
  });
}

Reproduction reproduce(const Paper& paper, const ReproduceOptions& options) {
  const Catalogue catalogue = read_catalogue();
  RowProgress progress = expected_rows(paper, options);
  Reproduction reproduction;
  for (const PaperTable& table : paper.tables) {
    ReproducedTable& reproduced = reproduction.tables.emplace_back();
    const auto* rows = judged_rows(table, options.other);
    if (rows == nullptr) continue;
    const TableCase of{paper, table, &catalogue, &progress};
    for (const Judgement& judgement : table.judgements) {
      progress.begin_judgement();
      reproduced.judgements.push_back(Judging(of, judgement, *rows, options).run());
    }
  }
  return reproduction;
}

}  // namespace penstock
