#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/pictures/picture.hpp"

namespace penstock {

/// A time that was predicted, between what bounds, and measured; all in one unit and above 0.
struct CalibrationPoint {
  double measured = 0;
  double predicted = 0;
  double low = 0;
  double high = 0;
};

/// Points that belong together: a colour and a marker.
struct CalibrationSeries {
  std::string name;
  std::vector<CalibrationPoint> points;
};

/// Predicted against measured, both on one logarithmic scale.
struct CalibrationPanel {
  std::string title;
  std::string unit;  // of its times: "ms"
  std::vector<CalibrationSeries> series;
};

/// Panels side by side, or below each other on a narrow page.
struct CalibrationPlot {
  std::string title;
  std::string subtitle;
  std::vector<CalibrationPanel> panels;
  PictureOptions options = {};
};

/// A picture file of predictions: markers with a line over the interval of each, a diagonal on
/// which they should lie, and a band of 5 % around it. Throws InputError for a point that
/// is not finite or not above 0, and UsageError when the plot is too small.
std::string draw_calibration_plot(PictureFormat format, const CalibrationPlot& plot);

}  // namespace penstock
