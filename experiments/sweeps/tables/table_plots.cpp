#include "experiments/sweeps/tables/table_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double gibibyte = 1073741824.0;

constexpr std::array quantities{
    Quantity{"makespan_us", "step time, ms", 1e-3},
    Quantity{"peak_memory_bytes", "memory of the fullest rank, GiB", 1 / gibibyte},
    Quantity{"bubble.of_makespan", "idle share of the makespan", 1},
    Quantity{"bubble.over_ideal", "makespan over the ideal, minus 1", 1},
    Quantity{"bubble.of_longest_span", "idle share of the longest span of a rank", 1},
    Quantity{"throughput.samples_per_s", "samples per second", 1},
    Quantity{"throughput.tokens_per_s", "tokens per second", 1},
    Quantity{"throughput.model_flops_utilization", "model FLOPs utilization", 1}};

/// "Step time" of "step time, ms".
std::string title_of_label(std::string_view label) {
  std::string title(label.substr(0, label.find(',')));
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') {
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
  }
  return title;
}

std::string label_of_column(const std::string& column) {
  return column.substr(column.rfind('/') + 1);
}

/// The columns of a picture, found.
struct FoundColumns {
  std::size_t x = 0;
  std::size_t y = 0;
  std::vector<std::size_t> by;
};

/// The varied column with the most different numbers.
std::size_t widest_axis(const RowTable& table, const std::vector<std::size_t>& axes) {
  std::size_t best = SIZE_MAX, most = 1;
  for (const std::size_t c : axes) {
    std::set<std::string> values;
    bool numbers = true;
    for (const auto& row : table.rows) {
      numbers = numbers && row[c].is_number;
      values.insert(row[c].text);
    }
    if (numbers && values.size() > most) {
      best = c;
      most = values.size();
    }
  }
  if (best == SIZE_MAX) throw UsageError("no axis has several numbers; name one with --x");
  return best;
}

FoundColumns find_columns(const RowTable& table, const PlottedColumns& columns) {
  const std::vector<std::size_t> axes = table.varied();
  FoundColumns found;
  found.x = columns.x.empty() ? widest_axis(table, axes) : table.column("--x", columns.x);
  found.y = table.column("--y", columns.y.empty() ? "bubble.of_makespan" : columns.y);
  if (!columns.by.empty()) {
    found.by = {table.column("--by", columns.by)};
  } else {
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(found.by),
                 [&](std::size_t c) { return c != found.x; });
  }
  return found;
}

/// "1f1b, pipeline 8": the values of some columns of a row.
std::string name_of_row(const RowTable& table, const std::vector<TableCell>& row,
                        const std::vector<std::size_t>& columns) {
  std::string name;
  for (const std::size_t c : columns) {
    const std::string label = row[c].is_number ? label_of_column(table.columns[c]) + " " : "";
    name += fmt::format("{}{}{}", name.empty() ? "" : ", ", label, row[c].text);
  }
  return name;
}

[[noreturn]] void refuse_double(const RowTable& table, const FoundColumns& columns) {
  std::vector<std::string> others;
  for (const std::size_t c : table.varied()) {
    const bool drawn =
        c == columns.x || std::find(columns.by.begin(), columns.by.end(), c) != columns.by.end();
    if (!drawn) others.push_back(table.columns[c]);
  }
  throw UsageError(
      fmt::format("several rows have one place: they differ in {}; leave --by out, or "
                  "sweep less",
                  fmt::join(others, ", ")));
}

std::string finding_of_row(const RowTable& table, const std::vector<TableCell>& row) {
  const auto& columns = table.columns;
  const auto found = std::find(columns.begin(), columns.end(), "finding_text");
  return found == columns.end() ? "" : row[static_cast<std::size_t>(found - columns.begin())].text;
}

/// Adds the points of a table to the series of a plot.
void add_points(const RowTable& table, const FoundColumns& columns, BubblePlot& plot) {
  const double factor = quantity_of_column(table.columns[columns.y]).factor;
  std::map<std::string, std::size_t> known;
  std::set<std::pair<std::string, std::string>> places;
  for (const auto& row : table.rows) {
    const std::string name = name_of_row(table, row, columns.by);
    const auto [series, is_new] = known.emplace(name, plot.series.size());
    if (is_new) plot.series.push_back({.name = name.empty() ? plot.y_label : name});
    const auto x = row[columns.x].number(), y = row[columns.y].number();
    if (!x)
      throw UsageError(
          fmt::format("{}: {} is no number", table.columns[columns.x], row[columns.x].text));
    if (!places.emplace(name, row[columns.x].text).second) refuse_double(table, columns);
    BubbleSeries& points = plot.series[series->second];
    if (y) {
      points.simulated.emplace_back(*x, *y * factor);
    } else {
      points.missing.emplace_back(*x, finding_of_row(table, row));
    }
  }
  for (BubbleSeries& series : plot.series) {
    std::sort(series.simulated.begin(), series.simulated.end());
  }
}

bool has_points(const BubblePlot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(),
                     [](const BubbleSeries& series) { return !series.simulated.empty(); });
}

/// Counts are drawn on a logarithmic axis, and so is what spans more than a factor of eight.
bool spreads(const BubblePlot& plot) {
  double low = 1e300, high = 0;
  for (const BubbleSeries& series : plot.series) {
    for (const auto& point : series.simulated) {
      low = std::min(low, point.first);
      high = std::max(high, point.first);
    }
  }
  return low > 0 && high >= 8 * low;
}

/// Values of a column in order: of numbers by value, of texts as they come.
std::vector<std::string> ordered_values(const RowTable& table, const std::vector<std::size_t>& by) {
  std::vector<std::string> names;
  std::map<double, std::string> numbers;
  for (const auto& row : table.rows) {
    const std::string name = by.size() == 1 ? row[by.front()].text : name_of_row(table, row, by);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (by.size() == 1 && row[by.front()].number()) numbers[*row[by.front()].number()] = name;
  }
  if (numbers.size() < names.size()) return names;
  names.clear();
  for (const auto& [value, name] : numbers) names.push_back(name);
  return names;
}

std::size_t place_of_value(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace

Quantity quantity_of_column(const std::string& column) {
  const auto found = std::find_if(quantities.begin(), quantities.end(),
                                  [&](const Quantity& one) { return one.column == column; });
  return found == quantities.end() ? Quantity{column, column, 1} : *found;
}

bool is_fraction(const std::string& column) {
  return column.starts_with("bubble.") || column.ends_with("utilization");
}

BubblePlot lines_of_table(const RowTable& table, const PlottedColumns& asked) {
  if (table.rows.empty()) throw InputError("there are no rows to draw");
  const FoundColumns columns = find_columns(table, asked);
  const std::string& y = table.columns[columns.y];
  const Quantity quantity = quantity_of_column(y);
  BubblePlot plot{.title = fmt::format("{} by {}", title_of_label(quantity.label),
                                       label_of_column(table.columns[columns.x])),
                  .x_label = label_of_column(table.columns[columns.x]),
                  .y_label = std::string(quantity.label),
                  .kind = y,
                  .percent = is_fraction(y)};
  add_points(table, columns, plot);
  if (!has_points(plot)) throw InputError(fmt::format("no row has a number for {}", y));
  plot.logarithmic = spreads(plot);
  return plot;
}

BubblePlot scaling_of_table(const RowTable& table, PlottedColumns columns) {
  if (columns.x.empty()) columns.x = "devices";
  if (columns.y.empty()) columns.y = "samples_per_s";
  BubblePlot plot = lines_of_table(table, columns);
  plot.title = "Scaling: " + plot.title;
  plot.thin_name = "in proportion";
  for (BubbleSeries& series : plot.series) {
    if (series.simulated.empty() || series.simulated.front().first <= 0) continue;
    const auto [x, y] = series.simulated.front();
    for (const auto& point : series.simulated) {
      series.closed_form.emplace_back(point.first, y / x * point.first);
    }
  }
  return plot;
}

HeatMap heat_map_of_table(const RowTable& table, const PlottedColumns& asked) {
  if (table.rows.empty()) throw InputError("there are no rows to draw");
  const FoundColumns columns = find_columns(table, asked);
  if (columns.by.empty()) throw UsageError("a heat map needs two axes; only one varies");
  const std::string& y = table.columns[columns.y];
  const Quantity quantity = quantity_of_column(y);
  HeatMap map{.title = title_of_label(quantity.label),
              .x_label = label_of_column(table.columns[columns.x]),
              .value_label = std::string(quantity.label),
              .columns = ordered_values(table, {columns.x}),
              .rows = ordered_values(table, columns.by),
              .percent = is_fraction(y)};
  for (const std::size_t c : columns.by) {
    map.y_label += (map.y_label.empty() ? "" : ", ") + label_of_column(table.columns[c]);
  }
  map.cells.assign(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
  std::set<std::pair<std::size_t, std::size_t>> places;
  for (const auto& row : table.rows) {
    const std::string name =
        columns.by.size() == 1 ? row[columns.by.front()].text : name_of_row(table, row, columns.by);
    const std::size_t r = place_of_value(map.rows, name);
    const std::size_t c = place_of_value(map.columns, row[columns.x].text);
    if (!places.emplace(r, c).second) refuse_double(table, columns);
    if (const auto value = row[columns.y].number()) map.cells[r][c] = *value * quantity.factor;
  }
  return map;
}

FrontPlot front_of_table(const RowTable& table) {
  const std::size_t time = table.column("plot --kind pareto", "makespan_us");
  const std::size_t memory = table.column("plot --kind pareto", "peak_memory_bytes");
  FrontPlot plot{.title = "Memory over step time", .points = {}, .others = "other configurations"};
  for (const auto& row : table.rows) {
    const auto us = row[time].number(), bytes = row[memory].number();
    if (us && bytes) plot.points.push_back({*us * 1e-6, *bytes / gibibyte, false});
  }
  if (plot.points.empty()) throw InputError("no row has a step time and a memory");
  std::sort(plot.points.begin(), plot.points.end(), [](const FrontPoint& a, const FrontPoint& b) {
    return std::pair(a.seconds, a.gibibytes) < std::pair(b.seconds, b.gibibytes);
  });
  double least = plot.points.front().gibibytes + 1;
  for (FrontPoint& point : plot.points) {
    point.on_front = point.gibibytes < least;
    least = std::min(least, point.gibibytes);
  }
  return plot;
}

}  // namespace penstock
