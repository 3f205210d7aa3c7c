#include "experiments/measure/calibration/published_picture.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/files/json_view.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double most_value = 1e30;

/// The judged rows of a judgement.
CalibrationSeries series_of_judgement(const JsonView& judgement) {
  CalibrationSeries series{judgement.at("name").text(), {}};
  for (const JsonView& row : judgement.at("rows").items()) {
    if (!row.at("judged").flag()) continue;
    const double published = row.at("published").number(-most_value, most_value);
    const double simulated = row.at("simulated").number(-most_value, most_value);
    if (published <= 0 || simulated <= 0) continue;
    series.points.push_back({published, simulated, simulated, simulated});
  }
  return series;
}

void add_panels(const JsonView& whole, const std::string& prefix, CalibrationPlot& plot) {
  for (const JsonView& table : whole.at("tables").items()) {
    CalibrationPanel panel{prefix + table.at("name").text(), table.at("unit").text(), {}};
    for (const JsonView& judgement : table.at("judgements").items()) {
      CalibrationSeries series = series_of_judgement(judgement);
      if (!series.points.empty()) panel.series.push_back(std::move(series));
    }
    if (!panel.series.empty()) plot.panels.push_back(std::move(panel));
  }
}

}  // namespace

CalibrationPlot published_plot(const nlohmann::json& document) {
  CalibrationPlot plot{.title = "Published against simulated",
                       .subtitle = "judged rows; band: within 5 %",
                       .panels = {},
                       .x_name = "published",
                       .y_name = "simulated",
                       .intervals = false};
  const JsonView whole(document);
  if (document.is_array()) {
    for (const JsonView& one : whole.items()) {
      add_panels(one, one.at("title").text() + ": ", plot);
    }
  } else {
    plot.title += ": " + whole.at("title").text();
    add_panels(whole, "", plot);
  }
  if (plot.panels.empty()) throw InputError("", "no row is judged; there is nothing to draw");
  return plot;
}

}  // namespace penstock
