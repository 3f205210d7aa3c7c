#pragma once

#include <QTreeWidget>
#include <functional>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/models/drawing/painted_run.hpp"

namespace penstock {

/// A list with columns that can be sorted and reached by keyboard. Rows may name an op.
QTreeWidget* make_table(const QStringList& columns, const QString& accessible_name,
                        std::function<void(TaskId)> on_op);

// Each fills a list with what it says of a run; what was there is gone.

/// Idle time of each rank by cause, and how it adds up.
void fill_idle(QTreeWidget& table, const ViewedRun& run);
/// The steps of the critical path.
void fill_path(QTreeWidget& table, const ViewedRun& run);
/// The memory peak of each rank, by kind.
void fill_memory(QTreeWidget& table, const ViewedRun& run);
/// The use of each link.
void fill_links(QTreeWidget& table, const ViewedRun& run);
/// The ops of a rank in order, for screen readers; the first `most` from a moment on.
void fill_ops(QTreeWidget& table, const PaintedRun& run, std::uint32_t rank, std::int64_t from,
              int most);
/// The rows of a sweep: what varies, and the main results. The first column names the row.
void fill_sweep(QTreeWidget& table, const RowTable& rows);

/// The headings of the lists above.
QStringList idle_columns();
QStringList path_columns();
QStringList memory_columns();
QStringList link_columns();
QStringList op_columns();

}  // namespace penstock
