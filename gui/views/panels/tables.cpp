#include "gui/views/panels/tables.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/run/pair_tables.hpp"
#include "gui/models/view/op_steps.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {
namespace {

constexpr int most_rows = 5000;

/// Whole numbers as they are, others with the digits that a person compares.
QString shown_number(const TableCell& cell) {
  const bool whole = cell.text.find_first_of(".e") == std::string::npos;
  return whole ? qt_text(cell.text) : QString::number(*cell.number(), 'g', 5);
}

double percent(TimeSum part, TimeSum whole) {
  if (whole == TimeSum{}) return 0;
  return 100 * static_cast<double>(part.picoseconds) / static_cast<double>(whole.picoseconds);
}

/// The columns of a list one after the other, each with those of its differences behind it.
class ChangeColumns {
 public:
  explicit ChangeColumns(const TableRuns& runs) : runs_(runs) {}
  ChangeColumns& add(TableColumn column) {
    columns.push_back(std::move(column));
    return *this;
  }
  ChangeColumns& add_changing(const TableColumn& column) {
    columns.push_back(column);
    for (const TableRuns::Change& change : runs_.changes) {
      columns.push_back(
          {QString("%1, %2 − A").arg(column.heading).arg(change.letter), column.adds});
    }
    return *this;
  }
  std::vector<TableColumn> columns;

 private:
  const TableRuns& runs_;
};

/// Cells of a row, from left to right.
class ChangeCells {
 public:
  ChangeCells(NumberedRow& row, const TableRuns& runs, int first)
      : row_(row), runs_(runs), column_(first) {}
  int next() { return column_++; }

  /// What is a time, bytes, a count or a share, in per cent, of this run, and how the others
  /// differ, where they count alike. Nothing of what a run does not know; a brief run knows its
  /// times alone.
  template <class Value>
  void add(NumberKind kind, Value value, bool (*alike)(const TableRuns::Change&) = nullptr) {
    const auto of = [&](const ViewedRun& run) { return std::optional<double>(value(run)); };
    const int first = next();
    if (const auto own = of(*runs_.run)) row_.set_amount(first, kind, *own);
    for (const TableRuns::Change& change : runs_.changes) {
      const int column = next();
      if (change.now->brief || change.a->brief || (alike != nullptr && !alike(change))) continue;
      const std::optional<double> now = of(*change.now), a = of(*change.a);
      if (now && a) row_.set_change(column, kind, *now - *a);
    }
  }

 private:
  NumberedRow& row_;
  const TableRuns& runs_;
  int column_;
};

/// What a run does on one rank, or on all.
IdleSums idle_of(const ViewedRun& run, std::optional<std::uint32_t> rank) {
  const std::vector<RankReport>& ranks = run.report.ranks;
  if (!rank) return idle_of_all(run);
  IdleSums its;
  if (*rank < ranks.size()) its += ranks[*rank].idle_by_cause;
  return its;
}

/// Whether any rank of any run idles by a cause.
bool has_cause(const TableRuns& runs, IdleCause cause) {
  const auto has = [&](const ViewedRun& run) {
    return time_of(idle_of(run, std::nullopt), cause) > Time{};
  };
  return has(*runs.run) || std::any_of(runs.changes.begin(), runs.changes.end(),
                                       [&](const auto& change) { return has(*change.now); });
}

std::vector<IdleCause> causes_of(const TableRuns& runs) {
  std::vector<IdleCause> causes;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    if (has_cause(runs, static_cast<IdleCause>(c))) causes.push_back(static_cast<IdleCause>(c));
  }
  return causes;
}

/// Of ranks, or of lanes, which have names.
TableColumn rank_column(const ViewedRun& run) {
  return is_lanes(run) ? TableColumn{"lane", false, true} : TableColumn{"rank"};
}

void set_rank_name(NumberedRow& row, const ViewedRun& run, std::uint32_t rank) {
  const QString number = QString::number(rank);
  row.set(0, is_lanes(run) ? qt_text(place_text(run.plan, rank)) : number, rank);
  row.set_rank(rank);
}

std::vector<TableColumn> idle_columns(const TableRuns& runs) {
  ChangeColumns all(runs);
  all.add(rank_column(*runs.run)).add({"holds", false, true});
  all.add_changing({"idle", true}).add_changing({"idle %"});
  for (const IdleCause cause : causes_of(runs)) {
    all.add_changing({qt_text(cause_name(runs.run->plan, cause)), true});
  }
  return all.columns;
}

void fill_idle_row(ChangeCells& cells, const std::vector<IdleCause>& causes,
                   std::optional<std::uint32_t> rank) {
  cells.add(NumberKind::time,
            [&](const ViewedRun& run) { return idle_of(run, rank).total().picoseconds; });
  cells.add(NumberKind::share, [&](const ViewedRun& run) {
    const WideInteger ranks = rank ? 1 : run.report.ranks.size();
    return percent(idle_of(run, rank).total(), TimeSum(run.report.makespan.picoseconds * ranks));
  });
  for (const IdleCause cause : causes) {
    cells.add(NumberKind::time,
              [&](const ViewedRun& run) { return time_of(idle_of(run, rank), cause).picoseconds; });
  }
}

std::size_t fill_idle(ListRows& rows, const TableRuns& runs) {
  const std::vector<RankSummary> facts = facts_of_ranks(*runs.run);
  const std::vector<IdleCause> causes = causes_of(runs);
  const auto ranks = static_cast<std::uint32_t>(runs.run->report.ranks.size());
  for (std::uint32_t r = 0; r < ranks; ++r) {
    NumberedRow& row = *add_row(rows);
    set_rank_name(row, *runs.run, r);
    if (r < facts.size()) row.setText(1, qt_text(facts[r].holds));
    ChangeCells cells(row, runs, 2);
    fill_idle_row(cells, causes, r);
  }
  if (is_lanes(*runs.run)) return ranks;  // threads and streams add up to nothing
  NumberedRow& all = *add_row(rows);
  all.set(0, "all", 1e9);
  ChangeCells cells(all, runs, 2);
  fill_idle_row(cells, causes, std::nullopt);
  return ranks + 1;
}

/// What an op is, from a column on: kind, stage and microbatch.
void set_op(NumberedRow& row, const ViewedRun& run, TaskId task) {
  const Plan& plan = run.plan;
  const WorkClass& work = plan.class_of(task);
  row.setText(0, qt_text(task_text(plan, task)));
  row.set_task(task);
  if (is_lanes(run)) return;  // of ops with names no more is known
  row.setText(1, qt_text(pass_name(work.pass)));
  row.set_count(2, index(work.stage));
  row.set_count(3, microbatch_of(run, task));
}

/// Those that `set_op` fills, and more.
std::vector<TableColumn> columns_of_ops(const std::vector<TableColumn>& more) {
  std::vector<TableColumn> all{
      {"op"}, {"kind", false, true}, {"stage", false, true}, {"microbatch", false, true}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<TableColumn> path_columns(const TableRuns&) {
  return columns_of_ops({{"where", false, true}, {"begin"}, {"length", true}, {"waits", true}});
}

std::size_t fill_path(ListRows& rows, const TableRuns& runs) {
  const ViewedRun& run = *runs.run;
  for (const PathStep& step : run.report.critical_path) {
    if (rows.size() >= most_rows) break;
    NumberedRow* const row = add_row(rows);
    set_op(*row, run, step.task);
    row->setText(4, qt_text(place_text(run.plan, run.plan.class_of(step.task).resource)));
    row->set_time(5, step.begin);
    row->set_time(6, step.end - step.begin);
    row->set_time(7, step.waits.total());
  }
  return run.report.critical_path.size();
}

std::vector<TableColumn> memory_columns(const TableRuns& runs) {
  ChangeColumns all(runs);
  all.add(rank_column(*runs.run)).add_changing({"peak"}).add({"at"}).add({"fit", false, true});
  return all.add({"largest kinds"}).columns;
}

QString kinds_text(const MemoryPeak& peak) {
  QStringList kinds;
  for (std::size_t k = 0; k < buffer_kinds; ++k) {
    if (peak.by_kind[k] == 0) continue;
    kinds << qt_text(name(static_cast<BufferKind>(k))) + " " + qt_text(bytes_text(peak.by_kind[k]));
  }
  return kinds.join(", ");
}

std::size_t fill_memory(ListRows& rows, const TableRuns& runs) {
  const ViewedRun& run = *runs.run;
  for (std::uint32_t r = 0; r < run.report.ranks.size(); ++r) {
    const MemoryPeak& peak = run.report.ranks[r].memory;
    NumberedRow& row = *add_row(rows);
    set_rank_name(row, run, r);
    ChangeCells cells(row, runs, 1);
    cells.add(NumberKind::bytes, [r](const ViewedRun& of) -> std::optional<double> {
      if (!knows_memory(of.report)) return std::nullopt;
      return r < of.report.ranks.size() ? static_cast<double>(of.report.ranks[r].memory.bytes) : 0;
    });
    row.set_time(cells.next(), peak.time);
    const bool judged = r < run.memory.size() && run.memory[r].word;
    row.setText(cells.next(), judged ? qt_text(text(*run.memory[r].word)) : QString());
    row.setText(cells.next(), kinds_text(peak));
    if (peak.task != no_task) row.set_task(peak.task);
  }
  return run.report.ranks.size();
}

std::vector<TableColumn> link_columns(const TableRuns& runs) {
  ChangeColumns all(runs);
  all.add({"link"}).add({"from", false, true}).add({"to", false, true});
  all.add_changing({"use %"}).add_changing({"busy", true});
  return all.add_changing({"transfers", true}).add_changing({"bytes", true}).columns;
}

/// What each run did on each link.
class LinkReports {
 public:
  explicit LinkReports(const TableRuns& runs) {
    note(*runs.run);
    for (const TableRuns::Change& change : runs.changes) {
      for (const ViewedRunPtr& run : {change.now, change.a}) note(*run);
    }
  }
  /// Nothing where the run has none such.
  LinkReport of(const ViewedRun& run, const std::string& link) const {
    const auto& reports = reports_.at(&run);
    const auto found = reports.find(link);
    return found == reports.end() ? LinkReport{} : *found->second;
  }

 private:
  void note(const ViewedRun& run) {
    auto& reports = reports_[&run];
    for (const LinkReport& link : run.report.links) reports[text(link.link)] = &link;
  }
  std::map<const ViewedRun*, std::unordered_map<std::string, const LinkReport*>> reports_;
};

void fill_link(NumberedRow& row, const TableRuns& runs, const LinkReports& reports,
               const Link& link) {
  const std::string name = text(link);
  row.setText(0, qt_text(name));
  row.setText(1, qt_text(end_text(link.from)));
  row.setText(2, qt_text(end_text(link.to)));
  const std::vector<Link>& links = runs.run->plan.links;
  const auto at = std::find(links.begin(), links.end(), link);
  if (at != links.end()) row.set_link(static_cast<std::uint32_t>(at - links.begin()));
  ChangeCells cells(row, runs, 3);
  const auto its = [&](const ViewedRun& run) { return reports.of(run, name); };
  const auto alike = [](const TableRuns::Change& change) {
    return is_recorded(*change.now) == is_recorded(*change.a);
  };
  cells.add(
      NumberKind::share,
      [&](const ViewedRun& run) { return percent(its(run).busy, run.report.makespan); }, alike);
  cells.add(
      NumberKind::time, [&](const ViewedRun& run) { return its(run).busy.picoseconds; }, alike);
  cells.add(NumberKind::count, [&](const ViewedRun& run) { return its(run).transfers; });
  cells.add(NumberKind::bytes, [&](const ViewedRun& run) {
    return is_recorded(run) ? std::nullopt : std::optional<double>(its(run).bytes);
  });
}

std::size_t fill_links(ListRows& rows, const TableRuns& runs) {
  const LinkReports reports(runs);
  for (const LinkReport& link : runs.run->report.links) {
    fill_link(*add_row(rows), runs, reports, link.link);
  }
  return runs.run->report.links.size();
}

}  // namespace

const std::vector<RunTable>& run_tables() {
  static const std::vector<RunTable> tables{
      {"Idle time", "Idle time by cause", idle_columns, fill_idle},
      {"Critical path", "Critical path", path_columns, fill_path},
      {"Memory", "Memory by rank", memory_columns, fill_memory},
      {"Links", "Links", link_columns, fill_links}};
  return tables;
}

std::vector<TableColumn> op_columns() {
  return columns_of_ops({{"begin"}, {"end"}, {"length", true}});
}

std::size_t fill_ops(ListRows& rows, const PaintedRun& run, std::uint32_t rank, std::int64_t from) {
  const Timeline& times = run.run->as_it_ran().timeline;
  const std::vector<TaskId> ops = ops_of_rank(*run.run, rank, from);
  for (const TaskId task : ops) {
    if (rows.size() >= most_rows) break;
    NumberedRow* const row = add_row(rows);
    set_op(*row, *run.run, task);
    row->set_time(4, times.begin[task]);
    row->set_time(5, times.end[task]);
    row->set_time(6, times.end[task] - times.begin[task]);
  }
  return ops.size();
}

std::vector<std::size_t> compared_columns(const RowTable& table) {
  std::vector<std::size_t> columns = table.varied();
  for (const char* result : {"makespan_us", "bubble.of_makespan", "throughput.samples_per_s",
                             "throughput.tokens_per_s", "peak_memory_bytes", "finding"}) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), result);
    if (at != table.columns.end()) {
      columns.push_back(static_cast<std::size_t>(at - table.columns.begin()));
    }
  }
  return columns;
}

QString sweep_heading(const std::string& column) {
  return qt_text(quantity_of_column(column).label) + (is_fraction(column) ? ", %" : "");
}

double sweep_number(const std::string& column, double number) {
  return number * (is_fraction(column) ? 100 : quantity_of_column(column).factor);
}

std::vector<TableColumn> sweep_columns(const RowTable& rows) {
  std::vector<TableColumn> columns{{"row"}};
  const std::vector<std::size_t> varied = rows.varied();
  for (const std::size_t column : compared_columns(rows)) {
    const bool varies = std::find(varied.begin(), varied.end(), column) != varied.end();
    columns.push_back({sweep_heading(rows.columns[column]), false, varies});
  }
  return columns;
}

std::size_t fill_sweep(ListRows& items, const RowTable& rows) {
  const std::vector<std::size_t> columns = compared_columns(rows);
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    NumberedRow* const row = add_row(items);
    row->set_count(0, r);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const TableCell& cell = rows.rows[r][columns[c]];
      const int at = static_cast<int>(c) + 1;
      const std::optional<double> number = cell.number();
      if (!number) {
        row->setText(at, qt_text(cell.text));
        continue;
      }
      const double shown = sweep_number(rows.columns[columns[c]], *number);
      row->set(at, shown == *number ? shown_number(cell) : qt_text(number_text(shown)), shown);
    }
  }
  return rows.rows.size();
}

}  // namespace penstock
