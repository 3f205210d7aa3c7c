#include "validate/store/shape_neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_shapes = 4096;
constexpr double apart = std::numeric_limits<double>::infinity();

/// A measured shape.
struct Place {
  NamedNumbers sizes;
  bool retired = true;  // all its rows are retired
};

/// Shapes with other sizes are infinitely far apart.
double distance(const NamedNumbers& a, const NamedNumbers& b) {
  if (a.size() != b.size()) return apart;
  double sum = 0;
  auto other = b.begin();
  for (const auto& [name, size] : a) {
    if (other->first != name || size <= 0 || other->second <= 0) {
      if (other->first != name || size != other->second) return apart;
    } else {
      sum += std::abs(std::log(size / other->second));
    }
    ++other;
  }
  return sum;
}

std::map<std::string, Place> places_of(std::span<const StoredRow* const> rows) {
  std::map<std::string, Place> places;
  for (const StoredRow* row : rows) {
    const auto sizes = shape_numbers(row->row.point.shape);
    if (!sizes) continue;
    Place& place = places[row->row.point.shape];
    place.sizes = *sizes;
    place.retired = place.retired && row->state == RowState::retired;
  }
  return places;
}

/// How many of the two nearest other shapes are retired.
std::uint32_t retired_near(const Place& own, const std::map<std::string, Place>& places) {
  std::vector<std::pair<double, bool>> others;
  for (const auto& other : places) {
    const double way = distance(own.sizes, other.second.sizes);
    if (&other.second != &own && way < apart) others.emplace_back(way, other.second.retired);
  }
  const auto near = others.begin() + std::min<std::ptrdiff_t>(2, std::ssize(others));
  std::partial_sort(others.begin(), near, others.end());
  return static_cast<std::uint32_t>(
      std::count_if(others.begin(), near, [](const auto& other) { return other.second; }));
}

}  // namespace

std::vector<std::uint32_t> retired_neighbours(std::span<const StoredRow* const> rows) {
  std::vector<std::uint32_t> counts(rows.size(), 0);
  const std::map<std::string, Place> places = places_of(rows);
  const bool any = std::any_of(places.begin(), places.end(),
                               [](const auto& place) { return place.second.retired; });
  if (!any || places.size() > most_shapes) return counts;
  std::map<std::string_view, std::uint32_t> by_shape;
  for (const auto& [shape, place] : places) by_shape[shape] = retired_near(place, places);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = by_shape.find(rows[i]->row.point.shape);
    if (found != by_shape.end()) counts[i] = found->second;
  }
  return counts;
}

}  // namespace penstock
