#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"

namespace penstock {

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

}  // namespace penstock
