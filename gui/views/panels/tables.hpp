#pragma once

#include <vector>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/views/panels/table_panel.hpp"

namespace penstock {

/// A run, and those that stand beside it: what they differ in has columns of its own.
struct TableRuns {
  /// One run minus A.
  struct Change {
    char letter;
    ViewedRunPtr now, a;
  };
  ViewedRunPtr run;
  std::vector<Change> changes{};
};

/// A list of what a report says of a run: idle time, critical path, memory, links.
struct RunTable {
  QString title;  // of its panel
  QString accessible_name;
  std::vector<TableColumn> (*columns)(const TableRuns& runs);
  /// Adds rows, and returns how many there would be if none was left out.
  std::size_t (*fill)(ListRows& rows, const TableRuns& runs);
};
const std::vector<RunTable>& run_tables();

/// The ops of a rank in order, for screen readers too; those from a moment on, as many as fit.
std::vector<TableColumn> op_columns();
std::size_t fill_ops(ListRows& rows, const PaintedRun& run, std::uint32_t rank, std::int64_t from);

/// The columns of a sweep that a person compares: what varies, and the main results.
std::vector<std::size_t> compared_columns(const RowTable& table);
/// What a column of a sweep is called, with its unit, and a number of it in that unit.
QString sweep_heading(const std::string& column);
double sweep_number(const std::string& column, double number);
/// Its rows. The first column names the row.
std::vector<TableColumn> sweep_columns(const RowTable& rows);
std::size_t fill_sweep(ListRows& items, const RowTable& rows);

}  // namespace penstock
