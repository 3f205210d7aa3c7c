#include "experiments/program/pages/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/program/pages/run_page.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_series = 14, most_map_rows = 40, most_map_columns = 60;
constexpr double figure_width = 560;

std::string lines_picture(const RowTable& table) {
  BubblePlot plot = lines_of_table(table, {});
  if (plot.series.size() > most_series) {
    throw UsageError(fmt::format("{} lines are too many to read", plot.series.size()));
  }
  plot.options.width = figure_width;
  return draw_bubble_plot(PictureFormat::svg, plot);
}

std::string map_picture(const RowTable& table) {
  HeatMap map = heat_map_of_table(table, {});
  if (map.rows.size() > most_map_rows || map.columns.size() > most_map_columns) {
    throw UsageError(
        fmt::format("{} by {} cells are too many to read", map.rows.size(), map.columns.size()));
  }
  map.options.width = figure_width;
  return draw_heat_map(PictureFormat::svg, map);
}

std::string front_picture(const RowTable& table) {
  FrontPlot plot = front_of_table(table);
  plot.options.width = figure_width;
  return draw_front_plot(PictureFormat::svg, plot);
}

/// The pictures of a sweep's rows, as `plot` draws them: bubble as lines and as a heat map, and the
/// front of memory and step time. Those that do not fit the rows are left out, each with a note.
std::vector<PageFigure> sweep_figures(const RowTable& table, std::vector<std::string>& notes) {
  std::vector<PageFigure> figures;
  const auto add = [&](const char* name, const char* kind, auto&& draw) {
    try {
      figures.push_back({name, draw(table)});
    } catch (const InputError& error) {
      notes.push_back(fmt::format("No picture of kind {}: {}.", kind, error.what()));
    } catch (const UsageError& error) {
      notes.push_back(fmt::format("No picture of kind {}: {}.", kind, error.what()));
    }
  };
  add("bubble over the longest axis", "lines", lines_picture);
  add("bubble over the axes", "heatmap", map_picture);
  add("memory of the fullest rank over step time", "pareto", front_picture);
  return figures;
}

constexpr std::string_view finding_column = "finding_text";

/// A column of the table and where its values are.
struct ShownColumn {
  std::size_t column;
  PageColumn head;
  double factor = 1;
  bool exact = false;  // shown with all of its digits
};

bool holds_numbers(const RowTable& table, std::size_t column) {
  return std::ranges::all_of(
      table.rows, [&](const auto& row) { return row[column].is_number || row[column].empty(); });
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
std::vector<ShownColumn> shown_columns(const ReportedRows& rows) {
  static const std::set<std::string_view> always{"item",
                                                 "makespan_us",
                                                 "bubble.of_makespan",
                                                 "throughput.samples_per_s",
                                                 "throughput.model_flops_utilization",
                                                 "peak_memory_bytes",
                                                 finding_column};
  const RowTable& table = rows.table;
  std::vector<ShownColumn> shown;
  bool results = false;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& name = table.columns[c];
    results = results || name == "makespan_us";
    const bool further = results && name.starts_with('/');
    const bool varies = !results && rows.axes.count(name) > 0;
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

/// A figure of the summary.
struct Figure {
  const char* label;
  std::string_view column;
  bool highest = false;

  /// The key of its number in a row.
  std::string_view key() const { return column.substr(column.rfind('.') + 1); }
};

constexpr std::array figures{Figure{"highest", "throughput.samples_per_s", true},
                             Figure{"least", "makespan_us"}, Figure{"least", "bubble.of_makespan"},
                             Figure{"least", "peak_memory_bytes"}};

/// "120.5, configuration 3": the answer that is best in a figure.
std::string best_text(const ReportedRows& rows, const Figure& figure) {
  const RowTable& table = rows.best;
  const auto found = std::ranges::find(table.columns, figure.column);
  if (found == table.columns.end()) return "";
  const auto column = static_cast<std::size_t>(found - table.columns.begin());
  std::size_t best = table.rows.size();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto number = table.answer(table.rows[r], column);
    if (!number) continue;
    const bool better = best == table.rows.size() ||
                        (figure.highest ? *number > *table.rows[best][column].number()
                                        : *number < *table.rows[best][column].number());
    if (better) best = r;
  }
  if (best == table.rows.size()) return "";
  const ShownColumn shown = shown_column(table, column);
  std::string text = fmt::format("{}: {}, configuration {}", shown.head.label,
                                 number_text(*table.rows[best][column].number() * shown.factor),
                                 table.rows[best].front().text);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (rows.axes.count(table.columns[c]) == 0) continue;
    text += fmt::format(", {} {}", shown_column(table, c).head.label, table.rows[best][c].text);
  }
  return text;
}

std::string sweep_summary(const ReportedRows& rows) {
  const std::string too_large =
      rows.too_large == 0
          ? ""
          : fmt::format(" ({} {} not fit)", rows.too_large, rows.too_large == 1 ? "does" : "do");
  std::string text = fmt::format("rows            {} of {}: {} with a result{}, {} without\n",
                                 rows.rows, counted(rows.of, "configuration"), rows.with_result,
                                 too_large, rows.rows - rows.with_result);
  for (const Figure& figure : figures) {
    const std::string best = best_text(rows, figure);
    if (!best.empty()) text += fmt::format("{:<15} {}\n", figure.label, best);
  }
  return text + fmt::format("sweep           {}, penstock {}\n", rows.sweep, rows.version);
}

void add_notes(const SweepReport& report, std::size_t detailed, ResultPage& page) {
  const ReportedRows& rows = report.rows;
  if (rows.lines.size() < rows.rows) {
    page.notes.push_back(
        fmt::format("The table and the pictures have the {} rows with the most samples per second; "
                    "left out: {}. The summary is of all rows.",
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
  const auto column = table.find("finding_text");
  const std::string finding = column ? table.rows[row][*column].text : "";
  if (!finding.empty()) detail.texts.push_back({"What was found", finding});
  return detail;
}

/// A row while the best ones are chosen.
struct RankedRow {
  double rate = 0;  // samples per second; below 0 of one that is no answer
  std::uint64_t place = 0;
  std::string line;

  /// Whether it is dropped later: of equal ones, the first row stays.
  bool operator>(const RankedRow& other) const {
    return rate != other.rate ? rate > other.rate : place < other.place;
  }
};

/// A figure of a row, found without reading the rest of it.
std::optional<double> number_in(std::string_view row, const Figure& figure) {
  const std::string key = fmt::format("\"{}\":", figure.key());
  const std::size_t at = row.rfind(key);
  double number = 0;
  if (at == std::string_view::npos) return std::nullopt;
  const char* end = row.data() + row.size();
  const auto read = std::from_chars(row.data() + at + key.size(), end, number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// What the summary of a page states, while rows are read one by one.
class Summed {
 public:
  void take(std::string_view row, std::uint64_t place, bool is_answer) {
    for (std::size_t f = 0; is_answer && f < figures.size(); ++f) {
      const auto number = number_in(row, figures[f]);
      if (!number) continue;
      const double cost = figures[f].highest ? -*number : *number;
      if (!best_[f].line.empty() && cost >= best_[f].cost) continue;
      best_[f] = {cost, place, std::string(row)};
    }
    take_axes(row);
  }
  const std::set<std::string>& axes() const { return axes_; }
  /// The best rows in the order of the file.
  std::string lines() const {
    std::map<std::uint64_t, std::string> rows;
    for (const Best& one : best_) {
      if (!one.line.empty()) rows[one.place] = one.line + '\n';
    }
    std::string text;
    for (const auto& [place, line] : rows) text += line;
    return text;
  }

 private:
  struct Best {
    double cost = 0;
    std::uint64_t place = 0;
    std::string line = {};
  };

  void take_axes(std::string_view row) {
    using nlohmann::json;
    const std::string text = fmt::format("{{{}}}", configuration_text(row));
    if (!is_json(text)) return;
    json own = parse_json(text);
    if (first_.is_null()) first_ = own;
    for (const auto* one : {&first_, &own}) {  // either may lack a pointer
      for (const auto& [pointer, value] : one->items()) {
        if (first_.value(pointer, json()) != own.value(pointer, json())) axes_.insert(pointer);
      }
    }
  }

  std::array<Best, figures.size()> best_;
  nlohmann::json first_;
  std::set<std::string> axes_;
};

/// The smallest rate is on top.
using Kept = std::priority_queue<RankedRow, std::vector<RankedRow>, std::greater<>>;

std::vector<RankedRow> in_file_order(Kept kept) {
  std::vector<RankedRow> rows;
  for (; !kept.empty(); kept.pop()) rows.push_back(kept.top());
  std::ranges::sort(rows, [](const RankedRow& a, const RankedRow& b) { return a.place < b.place; });
  return rows;
}

void take_label(std::string_view line, const std::string& path, ReportedRows& all) {
  const auto label = label_of_row(line);
  if (!label) throw refused_file(path, "line 1 is no row of a sweep");
  all.of = label->of;
  all.sweep = label->sweep;
  all.version = label->version;
}

std::vector<std::size_t> quickest_of(const std::vector<RankedRow>& rows) {
  std::vector<std::size_t> quickest;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].rate >= 0) quickest.push_back(r);
  }
  std::ranges::stable_sort(
      quickest, [&](std::size_t a, std::size_t b) { return rows[a].rate > rows[b].rate; });
  return quickest;
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
  const std::vector<ShownColumn> columns = shown_columns(rows);
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

ReportedRows read_reported_rows(const std::string& path, std::size_t most) {
  RowLines lines(path);
  ReportedRows all;
  Kept kept;
  Summed summed;
  for (; const auto line = lines.next(); ++all.rows) {
    if (all.rows == 0) take_label(*line, path, all);
    all.with_result += has_result(*line) ? 1 : 0;
    all.too_large += runs_out_of_memory(*line) ? 1 : 0;
    const bool answers = is_answer(*line);
    const auto rate = answers ? number_in(*line, figures.front()) : std::nullopt;
    kept.push({rate.value_or(-1), all.rows, std::string(*line)});
    summed.take(*line, all.rows, answers);
    if (kept.size() > most) kept.pop();
  }
  if (all.rows == 0) throw refused_file(path, "it has no rows");
  std::vector<RankedRow> rows = in_file_order(std::move(kept));
  all.quickest = quickest_of(rows);
  std::string text;
  for (RankedRow& row : rows) {
    text += row.line + '\n';
    all.lines.push_back(std::move(row.line));
  }
  all.table = about_file(path, [&] { return row_table_of(text); });
  all.best = about_file(path, [&] { return row_table_of(summed.lines()); });
  all.axes = summed.axes();
  return all;
}

}  // namespace penstock
