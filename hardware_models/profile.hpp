#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// What a layer took when it was measured on so many examples.
struct ProfilePoint {
  double examples = 1;
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
  std::optional<double> activation_bytes;
  std::optional<double> stash_bytes;
};

/// The points of one layer, ascending in examples, each number of them once.
struct ProfileEntry {
  std::string layer;  // its name, or the kind of all layers that it speaks for
  double parameter_bytes = 0;
  std::vector<ProfilePoint> points;
};

/// Measured layers.
struct Profile {
  std::string source;  // the file it came from
  std::string device;  // on which it was measured; empty: it does not say
  std::vector<ProfileEntry> entries;
};

/// What a layer takes at so many examples: what lies on the straight line between its neighbouring
/// points. Beyond them the nearest line goes on, but never falls as examples grow, and in front of
/// the first point a layer takes at least its share of it. One point alone scales. A number that
/// one of the two points lacks is absent.
ProfilePoint at(const ProfileEntry& entry, double examples);

}  // namespace penstock
