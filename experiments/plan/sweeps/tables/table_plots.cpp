#include "experiments/plan/sweeps/tables/table_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/plan/sweeps/tables/shown_axis.hpp"
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

/// The columns of a picture, found.
struct FoundColumns {
  std::size_t x = 0;
  std::size_t y = 0;
  std::vector<std::size_t> by;
  ShownAxis x_axis;
  std::vector<ShownAxis> by_axes;

  /// "1f1b, pipeline 8": what a row differs in from those of other lines.
  std::string name_of(const std::vector<TableCell>& row) const {
    std::string name;
    for (std::size_t i = 0; i < by.size(); ++i) {
      name += (name.empty() ? "" : ", ") + by_axes[i].named_text(row[by[i]]);
    }
    return name;
  }
  /// The same as the label of a row of cells: a single value stands under the name of its axis.
  std::string row_label(const std::vector<TableCell>& row) const {
    return by.size() == 1 ? by_axes.front().text(row[by.front()]) : name_of(row);
  }
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
  if (best == SIZE_MAX) throw UsageError("no axis has several numbers; sweep one");
  return best;
}

/// Whether an axis is tied to x: it has one number for each x, and these rise or fall with x.
bool is_tied(const RowTable& table, std::size_t x, std::size_t axis) {
  std::map<double, double> numbers;
  for (const auto& row : table.rows) {
    const auto at = row[x].number(), number = row[axis].number();
    if (!at || !number || numbers.emplace(*at, *number).first->second != *number) return false;
  }
  const auto rises = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto falls = [](const auto& a, const auto& b) { return a.second > b.second; };
  return std::adjacent_find(numbers.begin(), numbers.end(), rises) == numbers.end() ||
         std::adjacent_find(numbers.begin(), numbers.end(), falls) == numbers.end();
}

/// The first of these that the table has.
std::optional<std::size_t> first_of(const RowTable& table,
                                    std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = table.find(name)) return found;
  }
  return std::nullopt;
}

/// A result that is drawn without being asked for.
std::size_t result_column(const RowTable& table, const char* name) {
  if (const auto found = first_of(table, {name, name + std::string_view(name).rfind('.') + 1})) {
    return *found;
  }
  throw InputError(fmt::format("no row has a result: there is no column {}", name));
}

/// The axis of a scaling plot where none is asked for.
std::size_t devices_axis(const RowTable& table) {
  if (const auto found = first_of(table, {"/hardware/devices", "devices"})) return *found;
  throw UsageError(
      fmt::format("no one column ends in \"devices\"; name the axis with --x; columns: {}",
                  fmt::join(table.columns, ", ")));
}

enum class LinesOf : std::uint8_t { sweep, scaling };

FoundColumns find_columns(const RowTable& table, const PlottedColumns& columns,
                          LinesOf lines = LinesOf::sweep) {
  const bool scaling = lines == LinesOf::scaling;
  const std::vector<std::size_t> axes = table.varied();
  FoundColumns found;
  found.y = !columns.y.empty()
                ? table.column("--y", columns.y)
                : result_column(table, scaling ? "throughput.samples_per_s" : "bubble.of_makespan");
  found.x = !columns.x.empty() ? table.column("--x", columns.x)
            : scaling          ? devices_axis(table)
                               : widest_axis(table, axes);
  if (!columns.by.empty()) {
    found.by = {table.column("--by", columns.by)};
  } else {
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(found.by),
                 [&](std::size_t c) { return c != found.x && !is_tied(table, found.x, c); });
  }
  found.x_axis = shown_axis(table, found.x);
  for (const std::size_t c : found.by) found.by_axes.push_back(shown_axis(table, c));
  return found;
}

[[noreturn]] void refuse_double(const RowTable& table, const FoundColumns& columns) {
  std::vector<std::string> others;
  for (const std::size_t c : table.varied()) {
    const bool drawn = c == columns.x || std::ranges::find(columns.by, c) != columns.by.end();
    if (!drawn) others.push_back(table.columns[c]);
  }
  throw UsageError(
      fmt::format("several rows have one place: they differ in {}; leave --by out, or sweep less",
                  fmt::join(others, ", ")));
}

/// Adds the points of a table to the series of a plot.
void add_points(const RowTable& table, const FoundColumns& columns, BubblePlot& plot) {
  const double factor = quantity_of_column(table.columns[columns.y]).factor;
  std::map<std::string, std::size_t> known;
  std::set<std::pair<std::string, std::string>> places;
  for (const auto& row : table.rows) {
    const std::string name = columns.name_of(row);
    const auto [series, is_new] = known.emplace(name, plot.series.size());
    if (is_new) plot.series.push_back({.name = name.empty() ? plot.y_label : name});
    const auto x = row[columns.x].number(), y = table.answer(row, columns.y);
    if (!x)
      throw UsageError(
          fmt::format("{}: {} is no number", table.columns[columns.x], row[columns.x].text));
    if (!places.emplace(name, row[columns.x].text).second) refuse_double(table, columns);
    BubbleSeries& points = plot.series[series->second];
    if (y) {
      points.simulated.emplace_back(columns.x_axis.value(*x), *y * factor);
    } else {
      points.missing.emplace_back(columns.x_axis.value(*x), table.finding_of(row));
    }
  }
  for (BubbleSeries& series : plot.series) {
    std::ranges::sort(series.simulated);
  }
}

bool has_points(const BubblePlot& plot) {
  return std::ranges::any_of(plot.series,
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

/// Labels of cells in order: by the number in a column where all rows have one, else as they come.
template <class Label>
std::vector<std::string> ordered_labels(const RowTable& table, std::optional<std::size_t> column,
                                        Label&& label_of) {
  std::vector<std::string> labels;
  std::map<double, std::string> numbers;
  for (const auto& row : table.rows) {
    const std::string label = label_of(row);
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    const auto number = column ? row[*column].number() : std::nullopt;
    if (number) numbers[*number] = label;
  }
  if (numbers.size() < labels.size()) return labels;
  labels.clear();
  for (const auto& [value, label] : numbers) labels.push_back(label);
  return labels;
}

std::size_t place_of_value(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

/// Samples of a step, by line and place.
struct SamplesOfSteps {
  std::map<std::string, std::map<double, double>> of;

  /// How much more a step does at one place of a line than at another; 1 where it is not known.
  double ratio(const std::string& line, double from, double to) const {
    const auto found = of.find(line);
    if (found == of.end()) return 1;
    const auto a = found->second.find(from), b = found->second.find(to);
    return a == found->second.end() || b == found->second.end() ? 1 : b->second / a->second;
  }
};

SamplesOfSteps samples_of_steps(const RowTable& table, const FoundColumns& columns) {
  SamplesOfSteps samples;
  const auto find = [&](const char* name) {
    return std::ranges::find(table.columns, name) - table.columns.begin();
  };
  const auto speed = static_cast<std::size_t>(find("throughput.samples_per_s"));
  const auto time = static_cast<std::size_t>(find("makespan_us"));
  if (std::max(speed, time) >= table.columns.size()) return samples;
  for (const auto& row : table.rows) {
    const auto x = row[columns.x].number(), us = table.answer(row, time),
               per_s = table.answer(row, speed);
    if (!x || !us || !per_s) continue;
    std::string name = columns.name_of(row);
    if (name.empty()) name = quantity_of_column(table.columns[columns.y]).label;
    samples.of[name][columns.x_axis.value(*x)] = *us * *per_s;
  }
  return samples;
}

/// Strong scaling has as many samples a step everywhere, weak scaling as many for each device.
std::string scaling_title(const SamplesOfSteps& samples) {
  constexpr double rounding = 1e-6;
  bool strong = !samples.of.empty(), weak = strong;
  for (const auto& [line, places] : samples.of) {
    for (const auto& [x, count] : places) {
      const double more = samples.ratio(line, places.begin()->first, x);
      strong = strong && std::abs(more - 1) < rounding;
      weak = weak && std::abs(more * places.begin()->first / x - 1) < rounding;
    }
  }
  return strong == weak ? "Scaling: " : strong ? "Strong scaling: " : "Weak scaling: ";
}

void check_rows(const RowTable& table) {
  if (table.rows.empty()) throw InputError("there are no rows to draw");
}

BubblePlot lines_of_columns(const RowTable& table, const FoundColumns& columns) {
  const std::string& y = table.columns[columns.y];
  const Quantity quantity = quantity_of_column(y);
  BubblePlot plot{
      .title = fmt::format("{} by {}", title_of_label(quantity.label), columns.x_axis.name),
      .x_label = columns.x_axis.label(),
      .y_label = std::string(quantity.label),
      .kind = std::string(quantity.label),
      .percent = is_fraction(y),
      .x_column = columns.x_axis.label(),
      .value_column = "result"};
  add_points(table, columns, plot);
  if (!has_points(plot))
    throw InputError(fmt::format("no row without a finding has a number for {}", y));
  plot.logarithmic = spreads(plot);
  return plot;
}

}  // namespace

Quantity quantity_of_column(const std::string& column) {
  const auto found = std::ranges::find(quantities, column, &Quantity::column);
  return found == quantities.end() ? Quantity{column, column, 1} : *found;
}

bool is_fraction(const std::string& column) {
  return column.starts_with("bubble.") || column.ends_with("utilization");
}

BubblePlot lines_of_table(const RowTable& table, const PlottedColumns& columns) {
  check_rows(table);
  return lines_of_columns(table, find_columns(table, columns));
}

BubblePlot scaling_of_table(const RowTable& table, const PlottedColumns& asked) {
  check_rows(table);
  const FoundColumns columns = find_columns(table, asked, LinesOf::scaling);
  BubblePlot plot = lines_of_columns(table, columns);
  const SamplesOfSteps samples = samples_of_steps(table, columns);
  plot.title = scaling_title(samples) + plot.title;
  plot.thin_name = "in proportion";
  const bool is_time = table.columns[columns.y].ends_with("_us");
  for (BubbleSeries& series : plot.series) {
    if (series.simulated.empty() || series.simulated.front().first <= 0) continue;
    const auto [x, y] = series.simulated.front();
    for (const auto& point : series.simulated) {
      const double more = point.first / x;
      const double work = is_time ? samples.ratio(series.name, x, point.first) : 1;
      series.closed_form.emplace_back(point.first, is_time ? y * work / more : y * more);
    }
  }
  return plot;
}

HeatMap heat_map_of_table(const RowTable& table, const PlottedColumns& asked) {
  check_rows(table);
  const FoundColumns columns = find_columns(table, asked);
  if (columns.by.empty()) throw UsageError("a heat map needs two axes; only one varies");
  const std::string& y = table.columns[columns.y];
  const Quantity quantity = quantity_of_column(y);
  const auto column_label = [&](const auto& row) { return columns.x_axis.text(row[columns.x]); };
  const auto row_label = [&](const auto& row) { return columns.row_label(row); };
  const auto single = columns.by.size() == 1 ? std::optional(columns.by.front()) : std::nullopt;
  HeatMap map{.title = title_of_label(quantity.label),
              .x_label = columns.x_axis.label(),
              .value_label = std::string(quantity.label),
              .columns = ordered_labels(table, columns.x, column_label),
              .rows = ordered_labels(table, single, row_label),
              .percent = is_fraction(y)};
  for (const ShownAxis& axis : columns.by_axes) {
    map.y_label += (map.y_label.empty() ? "" : ", ") + (single ? axis.label() : axis.name);
  }
  map.cells.assign(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
  map.findings.assign(map.rows.size(), std::vector<std::string>(map.columns.size()));
  std::set<std::pair<std::size_t, std::size_t>> places;
  for (const auto& row : table.rows) {
    const std::size_t r = place_of_value(map.rows, row_label(row));
    const std::size_t c = place_of_value(map.columns, column_label(row));
    if (!places.emplace(r, c).second) refuse_double(table, columns);
    if (const auto value = table.answer(row, columns.y)) map.cells[r][c] = *value * quantity.factor;
    map.findings[r][c] = table.finding_of(row);
  }
  return map;
}

FrontPlot front_of_table(const RowTable& table) {
  check_rows(table);
  const std::size_t time = result_column(table, "makespan_us");
  const std::size_t memory = result_column(table, "peak_memory_bytes");
  FrontPlot plot{.title = "Memory over step time", .points = {}, .others = "other configurations"};
  for (const auto& row : table.rows) {
    const auto us = row[time].number(), bytes = row[memory].number();
    if (us && bytes)
      plot.points.push_back({*us * 1e-6, *bytes / gibibyte, false, table.finding_of(row)});
  }
  if (plot.points.empty()) throw InputError("no row has a step time and a memory");
  std::ranges::sort(plot.points, [](const FrontPoint& a, const FrontPoint& b) {
    return std::pair(a.seconds, a.gibibytes) < std::pair(b.seconds, b.gibibytes);
  });
  double least = std::numeric_limits<double>::infinity();
  for (FrontPoint& point : plot.points) {
    point.on_front = point.finding.empty() && point.gibibytes < least;
    if (point.on_front) least = point.gibibytes;
  }
  return plot;
}

}  // namespace penstock
