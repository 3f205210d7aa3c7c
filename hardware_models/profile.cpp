#include "hardware_models/profile.hpp"

#include <algorithm>

namespace penstock {
namespace {

using Value = std::optional<double> ProfilePoint::*;
constexpr Value values[] = {&ProfilePoint::forward_us,        &ProfilePoint::backward_us,
                            &ProfilePoint::backward_input_us, &ProfilePoint::backward_weight_us,
                            &ProfilePoint::activation_bytes,  &ProfilePoint::stash_bytes};

std::optional<double> between(std::optional<double> low, std::optional<double> high, double way) {
  if (!low || !high) return std::nullopt;
  return std::max(0.0, *low + (*high - *low) * way);
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  if (value) *value *= factor;
  return value;
}

}  // namespace

ProfilePoint at(const ProfileEntry& entry, double examples) {
  const auto& points = entry.points;
  ProfilePoint point{.examples = examples};
  if (points.size() == 1) {
    for (const Value value : values)
      point.*value = scaled(points[0].*value, examples / points[0].examples);
    return point;
  }
  auto high = std::lower_bound(
      points.begin(), points.end(), examples,
      [](const ProfilePoint& one, double wanted) { return one.examples < wanted; });
  high = std::clamp(high, points.begin() + 1, points.end() - 1);
  const ProfilePoint& low = *(high - 1);
  const double way = (examples - low.examples) / (high->examples - low.examples);
  for (const Value value : values) point.*value = between(low.*value, *high.*value, way);
  return point;
}

}  // namespace penstock
