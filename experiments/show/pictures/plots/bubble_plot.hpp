#pragma once

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

}  // namespace penstock
