#pragma once

#include <string>
#include <string_view>

#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/show/pictures/plots/plots.hpp"

namespace penstock {

/// A result as pictures and pages show it.
struct Quantity {
  std::string_view column;
  std::string_view label;  // with its unit
  double factor;           // from the column to that
};

/// The quantity of a column; of one that is not known, its name.
Quantity quantity_of_column(const std::string& column);
/// Whether a column has shares of 1.
bool is_fraction(const std::string& column);

/// Which columns to draw, by name or end; empty ones are chosen: x is the one with the most
/// numbers, y the bubble, and by all others that vary, but for numbers that rise or fall with x.
struct PlottedColumns {
  std::string x;
  std::string y;
  std::string by;
};

/// A result over an axis, a line for each value of a third. Throws UsageError for columns that are
/// not there, that hold no numbers, or that leave several rows at one place, and InputError for a
/// table without results.
BubblePlot lines_of_table(const RowTable& table, const PlottedColumns& columns);

/// Throughput over devices, or the x and y that are asked for, beside the first point in
/// proportion: of a time, with as much work for each device. The title says if scaling is strong or
/// weak.
BubblePlot scaling_of_table(const RowTable& table, const PlottedColumns& columns);

/// A result over two axes; a row with a finding has no value.
HeatMap heat_map_of_table(const RowTable& table, const PlottedColumns& columns);

/// The memory of the fullest rank over step time, and the rows that none beats in both. A row
/// with a finding beats none.
FrontPlot front_of_table(const RowTable& table);

}  // namespace penstock
