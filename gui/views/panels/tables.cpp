#include "gui/views/panels/tables.hpp"

#include <QHeaderView>
#include <algorithm>
#include <optional>

#include "experiments/input/files/table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/report/idle.hpp"

namespace penstock {
namespace {

constexpr int most_rows = 5000;

/// The columns that a person compares: what varies, and the main results.
std::vector<std::size_t> shown_columns(const RowTable& table) {
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

/// Whole numbers as they are, others with the digits that a person compares.
QString shown_number(const TableCell& cell) {
  const bool whole = cell.text.find_first_of(".e") == std::string::npos;
  return whole ? qt_text(cell.text) : QString::number(*cell.number(), 'g', 5);
}

double percent(Time part, Time whole) {
  if (whole == Time{}) return 0;
  return 100 * static_cast<double>(part.picoseconds) / static_cast<double>(whole.picoseconds);
}

QStringList idle_columns() {
  QStringList columns{"rank", "idle", "idle %"};
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    columns << name(static_cast<IdleCause>(c));
  }
  return columns;
}

void fill_idle(QTreeWidget& table, const ViewedRun& run) {
  start_rows(table);
  const auto add = [&](const QString& label, double rank, const IdleCauses& causes, Time whole) {
    auto* row = new NumberedRow(&table);
    row->set(0, label, rank);
    row->set_time(1, causes.total());
    row->set(2, QString::number(percent(causes.total(), whole), 'f', 1),
             percent(causes.total(), whole));
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      row->set_time(static_cast<int>(c) + 3, time_of(causes, static_cast<IdleCause>(c)));
    }
  };
  IdleCauses all;
  for (std::size_t r = 0; r < run.report.ranks.size(); ++r) {
    const RankReport& rank = run.report.ranks[r];
    all += rank.idle_by_cause;
    add(QString::number(r), static_cast<double>(r), rank.idle_by_cause, run.report.makespan);
  }
  const auto ranks = static_cast<std::int64_t>(run.report.ranks.size());
  add("all", 1e9, all, Time{run.report.makespan.picoseconds * ranks});
  finish_rows(table);
}

void fill_path(QTreeWidget& table, const ViewedRun& run) {
  start_rows(table);
  int rows = 0;
  for (const PathStep& step : run.report.critical_path) {
    if (++rows > most_rows) break;
    auto* row = new NumberedRow(&table);
    row->setText(0, qt_text(task_text(run.plan, step.task)));
    row->set_task(step.task);
    row->setText(1, qt_text(place_text(run.plan, run.plan.class_of(step.task).resource)));
    row->set_time(2, step.begin);
    row->set_time(3, step.end - step.begin);
    row->set_time(4, step.waits.total());
  }
  finish_rows(table);
}

void fill_memory(QTreeWidget& table, const ViewedRun& run) {
  start_rows(table);
  for (std::size_t r = 0; r < run.report.ranks.size(); ++r) {
    const MemoryPeak& peak = run.report.ranks[r].memory;
    auto* row = new NumberedRow(&table);
    row->set(0, QString::number(r), static_cast<double>(r));
    row->set(1, qt_text(bytes_text(peak.bytes)), static_cast<double>(peak.bytes));
    row->set_time(2, peak.time);
    QStringList kinds;
    for (std::size_t k = 0; k < buffer_kinds; ++k) {
      if (peak.by_kind[k] == 0) continue;
      kinds << qt_text(name(static_cast<BufferKind>(k))) + " " +
                   qt_text(bytes_text(peak.by_kind[k]));
    }
    const bool judged = r < run.memory.size() && run.memory[r].word;
    row->setText(3, judged ? qt_text(text(*run.memory[r].word)) : QString());
    row->setText(4, kinds.join(", "));
    if (peak.task != no_task) row->set_task(peak.task);
  }
  finish_rows(table);
}

void fill_links(QTreeWidget& table, const ViewedRun& run) {
  start_rows(table);
  for (const LinkReport& link : run.report.links) {
    auto* row = new NumberedRow(&table);
    row->setText(0, qt_text(text(link.link)));
    const double use = percent(link.busy, run.report.makespan);
    row->set(1, QString::number(use, 'f', 1), use);
    row->set_time(2, link.busy);
    row->set(3, QString::number(link.transfers), static_cast<double>(link.transfers));
    row->set(4, qt_text(bytes_text(link.bytes)), static_cast<double>(link.bytes));
  }
  finish_rows(table);
}

}  // namespace

bool NumberedRow::operator<(const QTreeWidgetItem& other) const {
  const int column = treeWidget()->sortColumn();
  const QVariant own = data(column, number_role);
  const QVariant its = other.data(column, number_role);
  if (own.isValid() && its.isValid()) return own.toDouble() < its.toDouble();
  return text(column) < other.text(column);
}

void NumberedRow::set(int column, const QString& shown, double number) {
  setText(column, shown);
  setData(column, number_role, number);
  setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
}

void NumberedRow::set_time(int column, Time time) {
  set(column, qt_text(short_time(time.picoseconds)), static_cast<double>(time.picoseconds));
}

void start_rows(QTreeWidget& table) {
  table.setSortingEnabled(false);
  table.clear();
}

void finish_rows(QTreeWidget& table) {
  const QTreeWidgetItem* first = table.topLevelItem(0);
  while (first != nullptr && first->childCount() > 0) first = first->child(0);
  // The heading of numbers stands over them.
  for (int c = 0; c < table.columnCount() && first != nullptr; ++c) {
    const bool has_numbers = first->data(c, number_role).isValid();
    const Qt::Alignment side = has_numbers ? Qt::AlignRight : Qt::AlignLeft;
    table.headerItem()->setTextAlignment(c, side | Qt::AlignVCenter);
  }
  table.setSortingEnabled(true);
  for (int c = 0; c < table.columnCount(); ++c) table.resizeColumnToContents(c);
}

QTreeWidget* make_table(const QStringList& columns, const QString& accessible_name,
                        std::function<void(TaskId)> on_op) {
  auto* table = new QTreeWidget;
  table->setHeaderLabels(columns);
  table->header()->setStretchLastSection(false);
  table->setRootIsDecorated(false);
  table->setAlternatingRowColors(true);
  table->setUniformRowHeights(true);
  table->setAccessibleName(accessible_name);
  table->sortByColumn(-1, Qt::AscendingOrder);
  QObject::connect(table, &QTreeWidget::itemActivated, table, [on_op](QTreeWidgetItem* row, int) {
    const QVariant task = row->data(0, task_role);
    if (task.isValid() && on_op) on_op(task.toUInt());
  });
  return table;
}

const std::vector<RunTable>& run_tables() {
  static const std::vector<RunTable> tables{
      {"Idle time", "Idle time by cause", idle_columns(), fill_idle},
      {"Critical path", "Critical path", {"op", "where", "begin", "length", "waits"}, fill_path},
      {"Memory", "Memory by rank", {"rank", "peak", "at", "fit", "largest kinds"}, fill_memory},
      {"Links", "Links", {"link", "use %", "busy", "transfers", "bytes"}, fill_links}};
  return tables;
}

QStringList op_columns() { return {"op", "begin", "end", "length", "microbatch"}; }

void fill_ops(QTreeWidget& table, const PaintedRun& run, std::uint32_t rank, std::int64_t from,
              int most) {
  start_rows(table);
  if (rank >= run.lanes->ranks.size()) return;
  for (const Track& track : run.lanes->ranks[rank].compute) {
    const std::size_t first = track.first_ending_after(from);
    const std::size_t end = std::min(track.size(), first + static_cast<std::size_t>(most));
    for (std::size_t i = first; i < end; ++i) {
      auto* row = new NumberedRow(&table);
      row->setText(0, qt_text(task_text(run.run->plan, track.tag[i])));
      row->set_task(track.tag[i]);
      row->set_time(1, {track.begin_at(i)});
      row->set_time(2, {track.end_at(i)});
      row->set_time(3, {track.end_at(i) - track.begin_at(i)});
      const std::uint32_t microbatch = index(run.run->plan.microbatch[track.tag[i]]);
      row->set(4, QString::number(microbatch), microbatch);
    }
  }
  finish_rows(table);
}

void fill_sweep(QTreeWidget& table, const RowTable& rows) {
  start_rows(table);
  const std::vector<std::size_t> columns = shown_columns(rows);
  QStringList names{"row"};
  for (const std::size_t column : columns) names << qt_text(rows.columns[column]);
  table.setColumnCount(static_cast<int>(names.size()));
  table.setHeaderLabels(names);
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    auto* const row = new NumberedRow(&table);
    row->set(0, QString::number(r), static_cast<double>(r));
    row->setData(0, task_role, static_cast<qulonglong>(r));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const TableCell& cell = rows.rows[r][columns[c]];
      const int at = static_cast<int>(c) + 1;
      const std::optional<double> number = cell.number();
      number ? row->set(at, shown_number(cell), *number) : row->setText(at, qt_text(cell.text));
    }
  }
  finish_rows(table);
}

}  // namespace penstock
