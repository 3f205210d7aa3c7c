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
constexpr std::array size_units{AxisUnit{"B", 1}, AxisUnit{"KiB", 1024.0},
                                AxisUnit{"MiB", 1048576.0}, AxisUnit{"GiB", 1073741824.0}};
constexpr std::array speed_units{AxisUnit{"B/s", 1}, AxisUnit{"kB/s", 1e3}, AxisUnit{"MB/s", 1e6},
                                 AxisUnit{"GB/s", 1e9}};

/// Units of a kind, ascending; times keep the unit of their suffix.
std::span<const AxisUnit> units_of(QuantityKind kind) {
  static constexpr std::array single{AxisUnit{"MB", 1}, AxisUnit{"ns", 1}, AxisUnit{"µs", 1},
                                     AxisUnit{"ms", 1}, AxisUnit{"s", 1}};
  switch (kind) {
    case QuantityKind::bytes:
      return size_units;
    case QuantityKind::bytes_per_s:
      return speed_units;
    case QuantityKind::megabytes:
      return std::span(single).subspan(0, 1);
    case QuantityKind::nanoseconds:
      return std::span(single).subspan(1, 1);
    case QuantityKind::microseconds:
      return std::span(single).subspan(2, 1);
    case QuantityKind::milliseconds:
      return std::span(single).subspan(3, 1);
    case QuantityKind::seconds:
      break;
  }
  return std::span(single).subspan(4, 1);
}

std::string_view suffix_of(QuantityKind kind) {
  constexpr std::array<std::string_view, 7> suffixes{"_bytes", "_mb", "_bytes_per_s", "_ns", "_us",
                                                     "_ms",    "_s"};
  return suffixes[static_cast<std::size_t>(kind)];
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
  if (!cell.is_number) return cell.text;
  return fmt::format("{} {}{}{}", name, text(cell), unit.empty() ? "" : " ", unit);
}

ShownAxis shown_axis(const RowTable& table, std::size_t column) {
  ShownAxis axis{.name = key_of_column(table.columns[column]), .unit = {}};
  const auto kind = measure_of_key(axis.name);
  if (kind) {
    axis.name.resize(axis.name.size() - suffix_of(*kind).size());
    const double most = largest_number(table, column);
    for (const AxisUnit& unit : units_of(*kind)) {
      if (unit.size > 1 && most < unit.size) break;
      axis.unit = unit.name;
      axis.size = unit.size;
    }
  }
  std::replace(axis.name.begin(), axis.name.end(), '_', ' ');
  return axis;
}

}  // namespace penstock
