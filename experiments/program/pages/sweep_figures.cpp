#include "experiments/program/pages/sweep_figures.hpp"

#include <fmt/format.h>

#include "experiments/plan/sweeps/tables/table_plots.hpp"
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

}  // namespace

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

}  // namespace penstock
