#include "experiments/plan/sweeps/tables/shown_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "experiments/input/files/quantity.hpp"

namespace penstock {
namespace {

struct AxisUnit {
  std::string_view name;
  double size;
};
constexpr std::array size_units{AxisUnit{"KiB", 1024.0}, AxisUnit{"MiB", 1048576.0},
                                AxisUnit{"GiB", 1073741824.0}};
constexpr std::array speed_units{AxisUnit{"kB/s", 1e3}, AxisUnit{"MB/s", 1e6},
                                 AxisUnit{"GB/s", 1e9}};

/// Units larger than that of plain numbers, ascending; times keep the unit of their suffix.
std::span<const AxisUnit> larger_units(QuantityKind kind) {
  if (kind == QuantityKind::bytes) return size_units;
  if (kind == QuantityKind::bytes_per_s) return speed_units;
  return {};
}

std::string key_of_column(const std::string& column) {
  return column.substr(column.rfind('/') + 1);
}

double largest_number(const RowTable& table, std::size_t column) {
  double most = 0;
  for (const auto& row : table.rows) {
    if (const auto number = row[column].number()) most = std::max(most, std::abs(*number));
  }
  return most;
}

}  // namespace

std::string ShownAxis::text(const TableCell& cell) const {
  const auto number = cell.number();
  return number && size != 1 ? fmt::format("{:.6g}", value(*number)) : cell.text;
}

std::string ShownAxis::named_text(const TableCell& cell) const {
  const bool is_truth = cell.text == "true" || cell.text == "false";
  if (!cell.is_number && !is_truth) return cell.text;
  return fmt::format("{} {}{}{}", name, text(cell), unit.empty() ? "" : " ", unit);
}

ShownAxis shown_axis(const RowTable& table, std::size_t column) {
  ShownAxis axis{.name = key_of_column(table.columns[column]), .unit = {}};
  const auto kind = measure_of_key(axis.name);
  if (kind) {
    axis.name.resize(axis.name.size() - suffix_of(*kind).size());
    axis.unit = unit_of(*kind);
    const double most = largest_number(table, column);
    for (const AxisUnit& unit : larger_units(*kind)) {
      if (most < unit.size) break;
      axis.unit = unit.name;
      axis.size = unit.size;
    }
  }
  std::replace(axis.name.begin(), axis.name.end(), '_', ' ');
  return axis;
}

}  // namespace penstock
