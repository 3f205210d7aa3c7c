#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"

namespace penstock {

/// A measured value and its prediction with an interval, all in one unit and positive.
struct CalibrationPoint {
  double measured = 0;
  double predicted = 0;
  double low = 0;
  double high = 0;
};

/// Points that share a colour and a marker.
struct CalibrationSeries {
  std::string name;
  std::vector<CalibrationPoint> points;
  std::optional<double> within = {};  // the error that its points may have, named in the legend
};

/// Predictions against measurements, both on one logarithmic scale.
struct CalibrationPanel {
  std::string title;
  std::string unit;  // of its values: "ms"; may be empty
  std::vector<CalibrationSeries> series;
  std::set<double> bands = {};  // errors on both sides of the diagonal
};

/// Panels in a row, or stacked on a narrow page.
struct CalibrationPlot {
  std::string title;
  std::string subtitle;
  std::vector<CalibrationPanel> panels;
  std::string x_name = "measured";
  std::string y_name = "predicted";
  bool intervals = true;  // otherwise they are no wider than their predictions
  PictureOptions options = {};
};

/// A picture file of predictions: markers with error bars for their intervals, the diagonal of
/// perfect predictions and bands around it. Throws InputError for a point that is not finite or not
/// positive, and UsageError if the plot is too small.
std::string draw_calibration_plot(PictureFormat format, const CalibrationPlot& plot);

}  // namespace penstock
