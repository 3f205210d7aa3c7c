#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"

namespace penstock {

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

}  // namespace penstock
