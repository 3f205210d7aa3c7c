#include "experiments/reproduction/reproduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/files/files.hpp"
#include "experiments/reproduction/constants_fit.hpp"
#include "experiments/reproduction/judging.hpp"
#include "experiments/reproduction/row_values.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using RowIndices = std::vector<std::size_t>;

/// One judgement of a table, over its judged rows.
class Judging {
 public:
  Judging(const TableCase& of, const Judgement& judgement, const std::vector<PaperRow>& rows)
      : of_(of), judgement_(judgement), rows_(rows) {
    judged_.name = judgement.name;
    for (const PaperRow& row : rows) {
      ReproducedRow& one = judged_.rows.emplace_back();
      one.label = cells_of(of.table, row, of.table.label);
      one.ranked = holds(of, row, judgement.rows);
      one.judged = one.ranked && !is_reference(of, row);
    }
  }

  JudgedTable run() {
    if (judgement_.fit && judgement_.fit->on_others) {
      for (std::size_t row = 0; row < rows_.size(); ++row) judge_by_others(row);
    } else {
      for (const RowIndices& members : groups()) judge_by_own(members);
    }
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
    const std::vector<PaperRow> fitted = rows_to_fit(of_, judgement_, group, rows_, nullptr);
    for (const std::size_t row : members) {
      const bool own = &fitted_table(of_.paper, of_.table, judgement_) == &of_.table;
      ReproducedRow& one = judged_.rows[row];
      one.fitted = own && std::find(fitted.begin(), fitted.end(), rows_[row]) != fitted.end();
      if (one.fitted) one.judged = one.ranked = false;
    }
    if (judgement_.fit) judged_.constants.push_back(std::move(found));
  }

  void judge_by_others(std::size_t row) {
    FoundConstants found = fit_constants(of_, judgement_, group_of(row), rows_, &rows_[row]);
    fill_in({row}, found.values);
    found.apart = {fmt::format("without {}", fmt::join(judged_.rows[row].label, " "))};
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
      row.error = row.simulated == row.published ? 0 : row.simulated / row.published - 1;
      if (!std::isfinite(row.error) && row.judged) refuse(row);
      row.finding = values[i].finding;
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
  JudgedTable judged_;
};

}  // namespace

bool Reproduction::met() const {
  for (const ReproducedTable& table : tables) {
    for (const JudgedTable& judged : table.judgements) {
      if (!judged.met) return false;
    }
  }
  return true;
}

namespace {

/// The rows to judge; none for a table that is left out.
const std::vector<PaperRow>* judged_rows(const PaperTable& table,
                                         const std::optional<OtherRows>& other) {
  if (!other) return &table.rows;
  return other->table == table.name ? &other->rows : nullptr;
}

RowProgress expected_rows(const Paper& paper, const std::optional<OtherRows>& other,
                          const OnProgress& on_progress) {
  RowProgress progress(on_progress);
  for (const PaperTable& table : paper.tables) {
    const auto* rows = judged_rows(table, other);
    if (rows == nullptr) continue;
    for (const Judgement& judgement : table.judgements) progress.expect(judgement, rows->size());
  }
  return progress;
}

}  // namespace

Reproduction reproduce(const Paper& paper, const std::optional<OtherRows>& other,
                       const OnProgress& on_progress) {
  const Catalogue catalogue = read_catalogue();
  RowProgress progress = expected_rows(paper, other, on_progress);
  Reproduction reproduction;
  for (const PaperTable& table : paper.tables) {
    ReproducedTable& reproduced = reproduction.tables.emplace_back();
    const auto* rows = judged_rows(table, other);
    if (rows == nullptr) continue;
    const TableCase of{paper, table, catalogue, &progress};
    for (const Judgement& judgement : table.judgements) {
      progress.begin_judgement();
      reproduced.judgements.push_back(Judging(of, judgement, *rows).run());
    }
  }
  return reproduction;
}

}  // namespace penstock
