#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/show/pictures/picture.hpp"

namespace penstock {

/// The bubble of one schedule or setting: points of (microbatches, bubble), ascending, with the
/// bubble as a fraction (0.25 is 25 %). Any list may be empty.
struct BubbleSeries {
  std::string name;
  std::vector<std::pair<double, double>> simulated;
  std::vector<std::pair<double, double>> closed_form;
  std::vector<std::pair<double, std::string>> missing = {};  // microbatches, and why there is no
                                                             // point
};

struct BubblePlot {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::vector<BubbleSeries> series;
  PictureOptions options = {};
  std::string kind = "of_makespan";  // which bubble: its key in reports
  // For other values over other numbers.
  bool percent = true;                    // otherwise y has the unit of its label
  bool logarithmic = true;                // x; otherwise from 0
  std::string thin_name = "closed form";  // what thin lines are
  std::string x_column = "microbatches";  // in CSV
  std::string value_column = "bubble";    // in CSV: the one that says what y is
};

/// A picture file of bubbles over microbatches, or of other values, none of them negative, over
/// other numbers, on a logarithmic axis or from 0. Simulated points are
/// connected markers, closed forms thin lines. Series with identical points share one line; where
/// lines coincide otherwise, they alternate along it and their markers are nested. Throws
/// InputError for a point that is not finite or has no microbatches, and UsageError if the plot is
/// too small.
std::string draw_bubble_plot(PictureFormat format, const BubblePlot& plot);

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

/// Up to four panels in a row, or as many as fit in a given width.
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

/// A layout in a plot of memory over step time.
struct FrontPoint {
  double seconds = 0;
  double gibibytes = 0;
  bool on_front = false;     // none is both as fast and smaller
  std::string finding = {};  // why it cannot be used, such as out of memory
};

struct FrontPlot {
  std::string title;
  std::vector<FrontPoint> points;                  // ascending in seconds
  std::optional<double> capacity = {};             // of the memory, in GiB
  std::optional<FrontPoint> plain = {};            // what to compare them with
  std::string others = "other simulated layouts";  // points that are not on the front
  PictureOptions options = {};
};

/// A picture file of layouts: those on the Pareto front are joined, those with a finding hollow.
/// Throws UsageError if the plot
/// is too small.
std::string draw_front_plot(PictureFormat format, const FrontPlot& plot);

/// Values over two axes, a cell each.
struct HeatMap {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::string value_label;                                // with its unit
  std::vector<std::string> columns;                       // values of x
  std::vector<std::string> rows;                          // values of y, from the bottom up
  std::vector<std::vector<std::optional<double>>> cells;  // by row, then column; empty: no value
  std::vector<std::vector<std::string>> findings = {};    // why cells have none; may be empty
  bool percent = false;                                   // values are fractions, shown in percent
  PictureOptions options = {};
};

/// A picture file of a heat map, pale for the least value and dark for the most. Numbers stand in
/// all cells where all of them fit; cells without a value are hatched. Throws UsageError if the
/// picture is too small for its cells.
std::string draw_heat_map(PictureFormat format, const HeatMap& map);

/// The bars of one stage. Times are those of one replica and one microbatch.
struct CutBar {
  std::string name;  // "0", "1 ×3" with three replicas
  double forward_s = 0;
  double backward_s = 0;
  double transfer_s = 0;  // of the tensors behind it, both ways
  double memory_bytes = 0;
};

/// A cut as bars: compute of each stage beside its transfers, and memory against the capacity.
struct CutPicture {
  std::string title;
  std::string subtitle;
  std::vector<CutBar> stages;
  std::optional<double> capacity_bytes;
};

/// Stages below each other, times on the left, memory on the right.
std::string draw_cut(PictureFormat format, const CutPicture& cut);

}  // namespace penstock
