#pragma once

#include <QTreeWidget>
#include <functional>
#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/models/drawing/painted_run.hpp"

namespace penstock {

// What a row keeps in its cells beside the text.
constexpr int task_role = Qt::UserRole;
constexpr int number_role = Qt::UserRole + 1;

/// A row that is sorted by numbers where it has them.
class NumberedRow : public QTreeWidgetItem {
 public:
  using QTreeWidgetItem::QTreeWidgetItem;
  bool operator<(const QTreeWidgetItem& other) const override;
  void set(int column, const QString& shown, double number);
  void set_time(int column, Time time);
  void set_task(TaskId task) { setData(0, task_role, task); }
};
/// Before rows are added, all at once, and behind the last.
void start_rows(QTreeWidget& table);
void finish_rows(QTreeWidget& table);

/// A list with columns that can be sorted and reached by keyboard. Rows may name an op.
QTreeWidget* make_table(const QStringList& columns, const QString& accessible_name,
                        std::function<void(TaskId)> on_op);

/// A list of what a report says of a run: idle time, critical path, memory, links.
struct RunTable {
  QString title;  // of its dock
  QString accessible_name;
  QStringList columns;
  /// What was there is gone.
  void (*fill)(QTreeWidget& table, const ViewedRun& run);
};
const std::vector<RunTable>& run_tables();

/// The ops of a rank in order, for screen readers; the first `most` from a moment on.
QStringList op_columns();
void fill_ops(QTreeWidget& table, const PaintedRun& run, std::uint32_t rank, std::int64_t from,
              int most);
/// The rows of a sweep: what varies, and the main results. The first column names the row.
void fill_sweep(QTreeWidget& table, const RowTable& rows);

}  // namespace penstock
