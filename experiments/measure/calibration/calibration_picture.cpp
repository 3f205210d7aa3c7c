#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/files/json_input.hpp"
#include "experiments/measure/calibration/calibration.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double most_value = 1e30;
constexpr double most_error = 10;
constexpr double band = 0.05;

CalibrationPoint point_of(const JsonView& point, const std::string& unit, double in_unit) {
  const auto time = [&](const char* what) {
    const JsonView value = point.at(fmt::format("{}_{}", what, unit));
    const double number = value.number(0, most_value);
    if (number == 0) value.fail("a time is above 0");
    return number / in_unit;
  };
  return {time("measured"), time("predicted"), time("low"), time("high")};
}

/// The series of this name; adds it if missing.
CalibrationSeries& series_of(const std::string& name, CalibrationPanel& panel) {
  for (CalibrationSeries& series : panel.series) {
    if (series.name == name) return series;
  }
  return panel.series.emplace_back(CalibrationSeries{name, {}});
}

CalibrationPanel kernels_panel(const JsonView& document) {
  CalibrationPanel panel{"kernels, held-out sizes", "\u00b5s", {}, {band}};
  for (const JsonView& kernel : document.at("kernels").items()) {
    const std::string& name = kernel.at("kernel").text();
    for (const JsonView& point : kernel.at("points").items()) {
      if (point.at("part").text() == "training") continue;
      series_of(name, panel).points.push_back(point_of(point, "ns", 1e3));
    }
  }
  return panel;
}

std::string in_words(const std::string& part) {
  if (part == "training") return "1F1B, trained on";
  if (part == "interpolation") return "1F1B, sizes in between";
  if (part == "extrapolation") return "1F1B, sizes beyond";
  return "other schedules";
}

CalibrationPanel pipelines_panel(const JsonView& document) {
  CalibrationPanel panel{"pipelines", "ms", {}, {band}};
  for (const JsonView& run : document.at("pipelines").at("runs").items()) {
    series_of(in_words(run.at("part").text()), panel).points.push_back(point_of(run, "us", 1e3));
  }
  return panel;
}

/// The judged rows of a judgement.
CalibrationSeries series_of_judgement(const JsonView& judgement) {
  CalibrationSeries series{judgement.at("name").text(), {}};
  if (const auto each = judgement.find("each")) series.within = each->number(0, most_error);
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
      if (series.points.empty()) continue;
      if (series.within) panel.bands.insert(*series.within);
      panel.series.push_back(std::move(series));
    }
    if (!panel.series.empty()) plot.panels.push_back(std::move(panel));
  }
}

}  // namespace

CalibrationPlot calibration_plot(const nlohmann::json& document) {
  const JsonView whole(document);
  if (!document.is_object() || document.value("kind", nlohmann::json()) != "calibration") {
    throw InputError("/kind", "this is no report of penstock calibrate --json");
  }
  CalibrationPlot plot;
  plot.title = fmt::format("Predicted against measured on {}", whole.at("backend").text());
  plot.subtitle = "lines: 90 % intervals; band: within 5 %";
  plot.panels = {kernels_panel(whole), pipelines_panel(whole)};
  return plot;
}

CalibrationPlot published_plot(const nlohmann::json& document) {
  CalibrationPlot plot{.title = "Published against simulated",
                       .subtitle = "judged rows; bands: errors that they may have",
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
