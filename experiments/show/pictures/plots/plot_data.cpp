#include "experiments/show/pictures/plots/plot_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "sim/base/time.hpp"

namespace penstock {
namespace {

/// The simulated and the closed-form bubble for one number of microbatches, and why the simulated
/// one is missing.
struct BubbleRow {
  std::string simulated;
  std::string closed_form;
  std::string missing;
};

std::map<double, BubbleRow> rows_of(const BubbleSeries& series) {
  std::map<double, BubbleRow> rows;
  for (const auto& [m, bubble] : series.simulated) rows[m].simulated = fmt::format("{}", bubble);
  for (const auto& [m, bubble] : series.closed_form)
    rows[m].closed_form = fmt::format("{}", bubble);
  for (const auto& [m, why] : series.missing) rows[m].missing = why;
  return rows;
}

}  // namespace

std::string bubble_csv(const BubblePlot& plot) {
  std::string thin = plot.thin_name;
  std::replace(thin.begin(), thin.end(), ' ', '_');
  std::string csv = fmt::format("series,{},{},simulated,{},missing\n", csv_cell(plot.x_column),
                                csv_cell(plot.value_column), thin);
  for (const BubbleSeries& series : plot.series) {
    for (const auto& [microbatches, row] : rows_of(series)) {
      csv +=
          fmt::format("{},{},{},{},{},{}\n", csv_cell(series.name), microbatches,
                      csv_cell(plot.kind), row.simulated, row.closed_form, csv_cell(row.missing));
    }
  }
  return csv;
}

std::string timeline_csv(const Plan& plan, const Timeline& timeline) {
  std::string csv = "rank,link,pass,stage,microbatch,begin_us,end_us\n";
  for (TaskId task = 0; task < timeline.begin.size(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const bool on_link = plan.is_link(work.resource);
    fmt::format_to(std::back_inserter(csv), "{},{},{},{},{},{},{}\n",
                   on_link ? "" : std::to_string(work.resource),
                   on_link ? text(plan.link(work.resource)) : "", word_of(plan, work),
                   index(work.stage), index(plan.microbatch[task]), text_us(timeline.begin[task]),
                   text_us(timeline.end[task]));
  }
  return csv;
}

std::string memory_csv(const Timeline& timeline, const std::vector<BytesByKind>& kinds) {
  const std::vector<BufferKind> columns = kinds_in(kinds);
  std::string csv = "rank,time_us,bytes";
  for (const BufferKind kind : columns) csv += fmt::format(",{}", name(kind));
  csv += '\n';
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemorySample& sample = timeline.memory[i];
    fmt::format_to(std::back_inserter(csv), "{},{},{}", index(sample.rank), text_us(sample.time),
                   sample.bytes);
    for (const BufferKind kind : columns) {
      fmt::format_to(std::back_inserter(csv), ",{}", kinds[i][static_cast<std::size_t>(kind)]);
    }
    csv += '\n';
  }
  return csv;
}

std::string calibration_csv(const CalibrationPlot& plot) {
  std::string csv = fmt::format("panel,series,unit,{},{}{}\n", plot.x_name, plot.y_name,
                                plot.intervals ? ",low,high" : "");
  for (const CalibrationPanel& panel : plot.panels) {
    for (const CalibrationSeries& series : panel.series) {
      for (const CalibrationPoint& point : series.points) {
        csv += fmt::format("{},{},{},{},{}", csv_cell(panel.title), csv_cell(series.name),
                           panel.unit, point.measured, point.predicted);
        csv += plot.intervals ? fmt::format(",{},{}\n", point.low, point.high) : "\n";
      }
    }
  }
  return csv;
}

std::string heat_map_csv(const HeatMap& map) {
  std::string csv =
      fmt::format("quantity,{},{},value,finding\n", csv_cell(map.x_label), csv_cell(map.y_label));
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const auto& value = map.cells[row][column];
      csv +=
          fmt::format("{},{},{},{},{}\n", csv_cell(map.value_label), csv_cell(map.columns[column]),
                      csv_cell(map.rows[row]), value ? fmt::format("{}", *value) : "",
                      map.findings.empty() ? "" : csv_cell(map.findings[row][column]));
    }
  }
  return csv;
}

std::string front_csv(const FrontPlot& plot) {
  std::string csv = "seconds,gibibytes,on_front,finding\n";
  for (const FrontPoint& point : plot.points) {
    csv += fmt::format("{},{},{},{}\n", point.seconds, point.gibibytes, point.on_front ? 1 : 0,
                       csv_cell(point.finding));
  }
  return csv;
}

}  // namespace penstock
