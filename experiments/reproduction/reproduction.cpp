#include "experiments/reproduction/reproduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/files.hpp"
#include "experiments/parallel.hpp"
#include "experiments/reproduction/judging.hpp"
#include "experiments/reproduction/row_simulation.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

std::vector<std::string> cells_of(const PaperTable& table, const PaperRow& row,
                                  const std::vector<std::string>& columns) {
  std::vector<std::string> cells;
  for (const std::string& name : columns) cells.push_back(text_of(row[column_of(table, name)]));
  return cells;
}

/// Both values of a row.
struct Values {
  double published = 0;
  double simulated = 0;
  std::string finding;
};

/// One table and its judgement, over the rows that are judged.
class Judging {
 public:
  Judging(const Paper& paper, const PaperTable& table, const Judgement& judgement,
          const std::vector<PaperRow>& rows, const Catalogue& catalogue)
      : paper_(paper), table_(table), judgement_(judgement), rows_(rows), catalogue_(catalogue) {
    for (const PaperConstant& constant : paper.constants) {
      starts_[constant.name] = constant.range.start;
    }
  }

  JudgedTable run() {
    JudgedTable judged{.name = judgement_.name};
    for (const PaperRow& row : rows_) {
      ReproducedRow& one = judged.rows.emplace_back();
      one.label = cells_of(table_, row, table_.label);
      one.ranked = holds(judgement_.rows, {paper_, table_, row, starts_});
      one.judged = one.ranked && !is_reference(row);
    }
    if (judgement_.fit && judgement_.fit->on_others) {
      judge_by_others(judged);
    } else {
      judge_by_groups(judged);
    }
    sum_up(judgement_, table_, rows_, judged);
    return judged;
  }

 private:
  bool is_reference(const PaperRow& row) const {
    return table_.reference && holds(table_.reference->row, {paper_, table_, row, starts_});
  }

  /// Rows that differ in what they are apart by have constants of their own.
  void judge_by_groups(JudgedTable& judged) {
    const std::vector<std::string> apart =
        judgement_.fit ? judgement_.fit->apart : std::vector<std::string>();
    std::vector<bool> done(rows_.size());
    for (std::size_t first = 0; first < rows_.size(); ++first) {
      if (done[first]) continue;
      const std::vector<std::string> group = cells_of(table_, rows_[first], apart);
      std::vector<std::size_t> members;
      for (std::size_t i = first; i < rows_.size(); ++i) {
        if (done[i] || cells_of(table_, rows_[i], apart) != group) continue;
        done[i] = true;
        members.push_back(i);
      }
      FoundConstants found = found_for(group, nullptr);
      judge(members, found.values, judged);
      if (judgement_.fit) judged.constants.push_back(std::move(found));
    }
  }

  void judge_by_others(JudgedTable& judged) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      FoundConstants found = found_for({}, &rows_[i]);
      found.apart = {"without " + fmt::format("{}", fmt::join(judged.rows[i].label, " "))};
      judge({i}, found.values, judged);
      judged.constants.push_back(std::move(found));
    }
    for (ReproducedRow& row : judged.rows) row.fitted = false;
  }

  void judge(const std::vector<std::size_t>& members, const Names& constants,
             JudgedTable& judged) const {
    std::vector<PaperRow> rows;
    for (const std::size_t i : members) rows.push_back(rows_[i]);
    const std::vector<Values> values = values_of(table_, rows, rows_, {constants}).front();
    for (std::size_t k = 0; k < members.size(); ++k) {
      ReproducedRow& row = judged.rows[members[k]];
      row.published = values[k].published;
      row.simulated = values[k].simulated;
      row.error = row.simulated / row.published - 1;
      row.finding = values[k].finding;
      row.fitted = is_fitted_to(rows[k], constants);
    }
  }

  bool is_fitted_to(const PaperRow& row, const Names& constants) const {
    if (!judgement_.fit || &fit_table() != &table_) return false;
    return holds(judgement_.fit->rows, {paper_, table_, row, constants}) &&
           std::find(table_.rows.begin(), table_.rows.end(), row) != table_.rows.end();
  }

  const PaperTable& fit_table() const {
    if (judgement_.fit->table.empty()) return table_;
    return *std::find_if(paper_.tables.begin(), paper_.tables.end(), [&](const PaperTable& table) {
      return table.name == judgement_.fit->table;
    });
  }

  /// The rows that constants are fitted to, all but one.
  std::vector<PaperRow> fit_rows(const std::vector<std::string>& group,
                                 const PaperRow* without) const {
    const PaperTable& table = fit_table();
    std::vector<PaperRow> rows;
    for (const PaperRow& row : table.rows) {
      if (without != nullptr && row == *without) continue;
      if (cells_of(table, row, judgement_.fit->apart) != group) continue;
      if (holds(judgement_.fit->rows, {paper_, table, row, starts_})) rows.push_back(row);
    }
    return rows;
  }

  FoundConstants found_for(const std::vector<std::string>& group, const PaperRow* without) const {
    FoundConstants found{.apart = group, .values = starts_};
    if (!judgement_.fit) return found;
    const PaperTable& table = fit_table();
    const std::vector<PaperRow> rows = fit_rows(group, without);
    if (rows.empty()) {
      throw in_file(
          paper_.source_file,
          InputError(table_.name, fmt::format("there is no row to fit \"{}\" to{}", judgement_.name,
                                              group.empty() ? "" : " where " + group[0])));
    }
    std::vector<FitRange> ranges;
    for (const std::string& name : judgement_.fit->constants) ranges.push_back(range_of(name));
    const Fit fitted = fit(ranges, [&](const std::vector<Constants>& choices) {
      return misfits(table, rows, choices);
    });
    found.values = named(fitted.constants);
    found.misfit = fitted.misfit;
    found.rows = rows.size();
    return found;
  }

  FitRange range_of(const std::string& name) const {
    return std::find_if(paper_.constants.begin(), paper_.constants.end(),
                        [&](const PaperConstant& constant) { return constant.name == name; })
        ->range;
  }

  Names named(const Constants& values) const {
    Names names = starts_;
    for (std::size_t i = 0; i < values.size(); ++i) names[judgement_.fit->constants[i]] = values[i];
    return names;
  }

  std::vector<std::vector<double>> misfits(const PaperTable& table,
                                           const std::vector<PaperRow>& rows,
                                           const std::vector<Constants>& choices) const {
    std::vector<Names> all;
    for (const Constants& choice : choices) all.push_back(named(choice));
    std::vector<std::vector<double>> misfits;
    for (const std::vector<Values>& values : values_of(table, rows, table.rows, all)) {
      std::vector<double>& of_choice = misfits.emplace_back();
      for (const Values& value : values) of_choice.push_back(misfit_of(table, value));
    }
    return misfits;
  }

  double misfit_of(const PaperTable& table, const Values& value) const {
    const double misfit = std::log(value.simulated / value.published);
    if (std::isfinite(misfit)) return misfit;
    throw in_file(paper_.source_file,
                  InputError(table.name, fmt::format("constants are fitted to values above zero; "
                                                     "published {}, simulated {}",
                                                     value.published, value.simulated)));
  }

  /// The values of rows for each choice of constants, seen from their references among `all`.
  std::vector<std::vector<Values>> values_of(const PaperTable& table,
                                             const std::vector<PaperRow>& rows,
                                             const std::vector<PaperRow>& all,
                                             const std::vector<Names>& choices) const {
    // A reference is simulated once, however many rows are seen from it.
    std::vector<PaperRow> needed = rows;
    std::vector<std::size_t> reference(rows.size());
    for (std::size_t i = 0; table.reference && i < rows.size(); ++i) {
      const PaperRow& row = reference_of(table, rows[i], all);
      const auto found = std::find(needed.begin(), needed.end(), row);
      reference[i] = static_cast<std::size_t>(found - needed.begin());
      if (found == needed.end()) needed.push_back(row);
    }
    std::vector<std::vector<Values>> values(choices.size(), std::vector<Values>(needed.size()));
    in_parallel(choices.size() * needed.size(), [&](std::size_t number) {
      const std::size_t choice = number / needed.size(), row = number % needed.size();
      const RowCase one{paper_, table, needed[row], choices[choice], &catalogue_};
      const SimulatedRow simulated = simulate_row(one);
      values[choice][row] = {published_by(one), simulated.value, simulated.finding};
    });
    if (!table.reference) return values;
    for (std::vector<Values>& of_choice : values) {
      const std::vector<Values> plain = of_choice;
      of_choice.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        of_choice[i] = seen_from(plain[reference[i]], plain[i], *table.reference);
      }
    }
    return values;
  }

  static Values seen_from(const Values& from, const Values& value, const PaperReference& how) {
    if (how.difference) {
      return {value.published - from.published, value.simulated - from.simulated, value.finding};
    }
    return {value.published / from.published, value.simulated / from.simulated, value.finding};
  }

  const PaperRow& reference_of(const PaperTable& table, const PaperRow& row,
                               const std::vector<PaperRow>& all) const {
    const std::vector<std::string>& within = table.reference->within;
    for (const std::vector<PaperRow>* rows : {&all, &table.rows}) {
      for (const PaperRow& other : *rows) {
        if (cells_of(table, other, within) != cells_of(table, row, within)) continue;
        if (holds(table.reference->row, {paper_, table, other, starts_})) return other;
      }
    }
    throw in_file(
        paper_.source_file,
        InputError(table.name, fmt::format("no row is the reference of row {}",
                                           fmt::join(cells_of(table, row, table.label), " "))));
  }

  const Paper& paper_;
  const PaperTable& table_;
  const Judgement& judgement_;
  const std::vector<PaperRow>& rows_;
  const Catalogue& catalogue_;
  Names starts_;
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

Reproduction reproduce(const Paper& paper, const std::optional<OtherRows>& other) {
  const Catalogue catalogue = read_catalogue();
  Reproduction reproduction;
  for (const PaperTable& table : paper.tables) {
    const bool others = other && other->table == table.name;
    ReproducedTable& reproduced = reproduction.tables.emplace_back();
    if (other && !others) continue;
    for (const Judgement& judgement : table.judgements) {
      const std::vector<PaperRow>& rows = others ? other->rows : table.rows;
      reproduced.judgements.push_back(Judging(paper, table, judgement, rows, catalogue).run());
    }
  }
  return reproduction;
}

}  // namespace penstock
