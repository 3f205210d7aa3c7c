#include "experiments/measure/calibration/calibration_plots.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/json_view.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A value in a document, with its pointer for errors.
class Place {
 public:
  Place(const ordered_json& value, std::string pointer)
      : value_(value), pointer_(std::move(pointer)) {}

  Place operator[](const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) {
      throw InputError(pointer_ + "/" + key,
                       "this is missing; a report of penstock calibrate --json has it");
    }
    return {value_[key], pointer_ + "/" + key};
  }

  /// Calls `visit` for each element.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    if (!value_.is_array()) throw InputError(pointer_, "this must be an array");
    for (std::size_t i = 0; i < value_.size(); ++i) {
      visit(Place(value_[i], fmt::format("{}/{}", pointer_, i)));
    }
  }

  std::string text() const {
    if (!value_.is_string()) throw InputError(pointer_, "this must be a text");
    return value_.get<std::string>();
  }

  /// Throws unless above 0.
  double time() const {
    const bool fits =
        value_.is_number() && value_.get<double>() > 0 && std::isfinite(value_.get<double>());
    if (!fits) throw InputError(pointer_, "this must be a number above 0");
    return value_.get<double>();
  }

 private:
  const ordered_json& value_;
  std::string pointer_;
};

CalibrationPoint point_of(const Place& place, const std::string& unit, double in_unit) {
  const auto time = [&](const char* what) {
    return place[(std::string(what) + "_" + unit).c_str()].time() / in_unit;
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

CalibrationPanel kernels_panel(const Place& document) {
  CalibrationPanel panel{"kernels, held-out sizes", "\u00b5s", {}};
  document["kernels"].for_each([&](const Place& kernel) {
    const std::string name = kernel["kernel"].text();
    kernel["points"].for_each([&](const Place& point) {
      if (point["part"].text() == "training") return;
      series_of(name, panel).points.push_back(point_of(point, "ns", 1e3));
    });
  });
  return panel;
}

std::string in_words(const std::string& part) {
  if (part == "training") return "1F1B, trained on";
  if (part == "interpolation") return "1F1B, sizes in between";
  if (part == "extrapolation") return "1F1B, sizes beyond";
  return "other schedules";
}

CalibrationPanel pipelines_panel(const Place& document) {
  CalibrationPanel panel{"pipelines", "ms", {}};
  document["pipelines"]["runs"].for_each([&](const Place& run) {
    series_of(in_words(run["part"].text()), panel).points.push_back(point_of(run, "us", 1e3));
  });
  return panel;
}

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

CalibrationPlot calibration_plot(const ordered_json& document) {
  const Place whole(document, "");
  if (whole["kind"].text() != "calibration") {
    throw InputError("/kind", "this is no report of penstock calibrate --json");
  }
  CalibrationPlot plot;
  plot.title = fmt::format("Predicted against measured on {}", whole["backend"].text());
  plot.subtitle = "lines: 90 % intervals; band: within 5 %";
  plot.panels = {kernels_panel(whole), pipelines_panel(whole)};
  return plot;
}

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
