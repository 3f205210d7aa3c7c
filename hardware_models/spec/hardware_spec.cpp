#include "hardware_models/spec/hardware_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

using Value = std::optional<double> ProfilePoint::*;
constexpr Value point_values[] = {
    &ProfilePoint::forward_us,        &ProfilePoint::backward_us,
    &ProfilePoint::backward_input_us, &ProfilePoint::backward_weight_us,
    &ProfilePoint::activation_bytes,  &ProfilePoint::stash_bytes};

/// The line through two neighbouring points. Outside the points it never falls with more examples,
/// and below the first point it is at least proportional.
double on_line(const ProfilePoint& low, const ProfilePoint& high, Value value, double examples) {
  const double at_low = *(low.*value);
  const double at_high = *(high.*value);
  if (high.examples <= low.examples) return at_low;
  const double way = (examples - low.examples) / (high.examples - low.examples);
  if (way >= 0 && way <= 1) return at_low + (at_high - at_low) * way;
  const double rise = std::max(0.0, at_high - at_low);
  if (way > 1) return at_high + rise * (way - 1);
  return std::max(at_low + rise * way, at_low * examples / low.examples);
}

}  // namespace

std::string unused_text(const Profile& profile) {
  if (profile.unused_rows == 0) return "";
  return fmt::format(
      "; {0} rows of layers in {1} are not used: penstock profile check {1} says why, penstock "
      "calibrate -o {1} --layers-of SCENARIO measures them again",
      profile.unused_rows, profile.source);
}

std::span<const ProfilePoint> points_at(const ProfileEntry& entry, double examples) {
  const auto& points = entry.points;
  if (points.size() < 2) return points;
  const auto high = std::ranges::lower_bound(points, examples, {}, &ProfilePoint::examples);
  return {std::clamp(high, points.begin() + 1, points.end() - 1) - 1, 2};
}

ProfilePoint at(const ProfileEntry& entry, double examples) {
  const std::span<const ProfilePoint> points = points_at(entry, examples);
  ProfilePoint point{.examples = examples};
  for (const Value value : point_values) {
    if (points.size() == 1 && points[0].*value) {
      point.*value = *(points[0].*value) * examples / points[0].examples;
    } else if (points.size() == 2 && points[0].*value && points[1].*value) {
      point.*value = on_line(points[0], points[1], value, examples);
    }
  }
  return point;
}

}  // namespace penstock
