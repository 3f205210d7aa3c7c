#include "experiments/program/pages/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/program/pages/row_detail.hpp"
#include "experiments/program/pages/sweep_figures.hpp"

namespace penstock {
namespace {

constexpr std::string_view finding_column = "finding_text";

/// A column of the table and where its values are.
struct ShownColumn {
  std::size_t column;
  PageColumn head;
  double factor = 1;
  bool exact = false;  // shown with all of its digits
};

bool holds_numbers(const RowTable& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return row[column].is_number || row[column].empty(); });
}

ShownColumn shown_column(const RowTable& table, std::size_t column) {
  const std::string& name = table.columns[column];
  const bool of_axis = name.starts_with('/');
  const Quantity quantity = quantity_of_column(name);
  ShownColumn shown{
      .column = column,
      .head = {of_axis ? name.substr(name.rfind('/') + 1) : std::string(quantity.label), name,
               holds_numbers(table, column)},
      .factor = quantity.factor};
  if (!of_axis && is_fraction(name)) {
    shown.head.label += ", %";
    shown.factor = 100;
  }
  shown.exact = of_axis || name == "item";
  if (name == "item") shown.head.label = "configuration";
  if (name == finding_column) shown.head = {"finding", name, false};
  return shown;
}

/// Number, axes, the figures that matter most, further results, and the finding.
std::vector<ShownColumn> shown_columns(const RowTable& table) {
  static const std::set<std::string_view> always{"item",
                                                 "makespan_us",
                                                 "bubble.of_makespan",
                                                 "throughput.samples_per_s",
                                                 "throughput.model_flops_utilization",
                                                 "peak_memory_bytes",
                                                 finding_column};
  const std::vector<std::size_t> varied = table.varied();
  std::vector<ShownColumn> shown;
  bool results = false;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& name = table.columns[c];
    results = results || name == "makespan_us";
    const bool varies = std::find(varied.begin(), varied.end(), c) != varied.end();
    const bool further = results && name.starts_with('/');
    if (varies || further || always.count(name) > 0) shown.push_back(shown_column(table, c));
  }
  return shown;
}

PageCell page_cell(const TableCell& cell, const ShownColumn& column) {
  const auto number = cell.number();
  if (!number || !column.head.number) return {cell.text};
  if (column.exact) return {cell.text, cell.text};
  return {number_text(*number * column.factor), fmt::format("{}", *number * column.factor)};
}

/// "configuration 3: 120.5": the row that is best in a column.
std::string best_text(const RowTable& table, const std::string& name, bool highest) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) return "";
  const auto column = static_cast<std::size_t>(found - table.columns.begin());
  std::size_t best = table.rows.size();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto number = table.rows[r][column].number();
    if (!number) continue;
    const bool better =
        best == table.rows.size() || (highest ? *number > *table.rows[best][column].number()
                                              : *number < *table.rows[best][column].number());
    if (better) best = r;
  }
  if (best == table.rows.size()) return "";
  const ShownColumn shown = shown_column(table, column);
  std::string text = fmt::format("{}: {}, configuration {}", shown.head.label,
                                 number_text(*table.rows[best][column].number() * shown.factor),
                                 table.rows[best].front().text);
  for (const std::size_t c : table.varied()) {
    text += fmt::format(", {} {}", shown_column(table, c).head.label, table.rows[best][c].text);
  }
  return text;
}

std::string sweep_summary(const ReportedRows& rows) {
  std::string text = fmt::format("rows            {} of {}: {} with a result, {} without\n",
                                 rows.rows, counted(rows.of, "configuration"), rows.with_result,
                                 rows.rows - rows.with_result);
  const auto add = [&](const char* name, const std::string& best) {
    if (!best.empty()) text += fmt::format("{:<15} {}\n", name, best);
  };
  add("highest", best_text(rows.table, "throughput.samples_per_s", true));
  add("least", best_text(rows.table, "makespan_us", false));
  add("least", best_text(rows.table, "bubble.of_makespan", false));
  add("least", best_text(rows.table, "peak_memory_bytes", false));
  return text + fmt::format("sweep           {}, penstock {}\n", rows.sweep, rows.version);
}

void add_notes(const SweepReport& report, std::size_t detailed, ResultPage& page) {
  const ReportedRows& rows = report.rows;
  if (rows.lines.size() < rows.rows) {
    page.notes.push_back(
        fmt::format("The page has the {} rows with the most samples per second; left out: {}.",
                    rows.lines.size(), rows.rows - rows.lines.size()));
  }
  if (!report.sweep) {
    page.notes.push_back(
        "Rows have no explanation and no timeline, since the page was made without the scenario.");
  } else if (detailed < rows.quickest.size()) {
    page.notes.push_back(
        fmt::format("The {} rows with the most samples per second have an explanation and a "
                    "timeline; others have their configuration.",
                    detailed));
  }
}

/// What opens below a row without a run.
PageDetail brief_detail(const SweepReport& report, std::size_t row) {
  PageDetail detail{{settings_of_row(report.rows.lines[row])}, {}};
  const RowTable& table = report.rows.table;
  const auto found = std::find(table.columns.begin(), table.columns.end(), finding_column);
  if (found == table.columns.end()) return detail;
  const TableCell& cell = table.rows[row][static_cast<std::size_t>(found - table.columns.begin())];
  if (!cell.empty()) detail.texts.push_back({"What was found", cell.text});
  return detail;
}

}  // namespace

ResultPage sweep_page(const SweepReport& report) {
  const ReportedRows& rows = report.rows;
  ResultPage page{.title = report.name, .summary = sweep_summary(rows)};
  page.table_heading = "Configurations";
  if (report.sweep) check_base(rows.lines.front(), *report.sweep);
  std::set<std::size_t> detailed;
  if (report.sweep) {
    const std::size_t count = std::min(report.details, rows.quickest.size());
    detailed.insert(rows.quickest.begin(),
                    rows.quickest.begin() + static_cast<std::ptrdiff_t>(count));
  }
  add_notes(report, detailed.size(), page);
  page.figures = sweep_figures(rows.table, page.notes);
  const std::vector<ShownColumn> columns = shown_columns(rows.table);
  for (const ShownColumn& column : columns) page.columns.push_back(column.head);
  for (const auto& row : rows.table.rows) {
    auto& cells = page.rows.emplace_back();
    for (const ShownColumn& column : columns)
      cells.push_back(page_cell(row[column.column], column));
  }
  page.detail = [&report, detailed, done = std::make_shared<std::uint64_t>(0)](std::size_t row) {
    if (detailed.count(row) == 0) return brief_detail(report, row);
    if (report.on_progress) report.on_progress("rows", ++*done, detailed.size());
    return detail_of_row(report.rows.lines[row], *report.sweep);
  };
  return page;
}

}  // namespace penstock
