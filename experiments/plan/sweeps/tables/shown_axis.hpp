#pragma once

#include <cstddef>
#include <string>

#include "experiments/plan/sweeps/tables/row_table.hpp"

namespace penstock {

/// A column as pictures show it: "bandwidth, GB/s" of /hardware/bandwidth_bytes_per_s.
struct ShownAxis {
  std::string name;  // "bandwidth"
  std::string unit;  // "GB/s"; empty if it has none
  double size = 1;   // of the unit, in that of the column

  std::string label() const { return unit.empty() ? name : name + ", " + unit; }
  /// A number of the column in the unit of the axis.
  double value(double number) const { return number / size; }
  /// The value of a cell: "64".
  std::string text(const TableCell& cell) const;
  /// The same with its name, to tell lines apart: "bandwidth 64 GB/s", "overlap sums true"; of
  /// another text the text alone.
  std::string named_text(const TableCell& cell) const;
};

/// The unit follows from the suffix of the column and its largest number.
ShownAxis shown_axis(const RowTable& table, std::size_t column);

}  // namespace penstock
