#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware_models/spec/parameters.hpp"

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
  std::vector<std::int64_t> rows;  // of a store that it was taken from, by their numbers
};

/// The points of one layer, ascending in examples, each number of them once.
struct ProfileEntry {
  std::string layer;  // its name, or the kind of all layers that it speaks for
  double parameter_bytes = 0;
  std::vector<ProfilePoint> points;
  NamedNumbers numbers;            // of those layers of its kind; empty: of all of them
  std::optional<double> sequence;  // tokens of an example, where they matter
  bool counts_tokens = false;      // points are by tokens, not by examples
};

/// A row of a store that times were taken from.
struct MeasuredRow {
  std::int64_t id = 0;
  bool suspect = false;  // predicted to hold no more
  std::string kernel;
  std::string pass;
  std::string shape;
  std::string measured_at;
};

/// Measured layers.
struct Profile {
  std::string source;  // the file it came from
  std::string device;  // on which it was measured; empty: it does not say
  std::vector<ProfileEntry> entries;
  std::vector<MeasuredRow> rows;  // ascending; none where it was not measured into a store
  std::size_t unused_rows = 0;    // of layers there: retired, superseded, or without other passes
};

/// What to add where a profile lacks a layer: a store may have rows of it that do not count. Empty
/// where it has none.
std::string unused_text(const Profile& profile);

/// The points that tell what a layer takes at so many examples: two neighbours, or its only one.
std::span<const ProfilePoint> points_at(const ProfileEntry& entry, double examples);

/// What a layer takes at so many examples: what lies on the straight line between its neighbouring
/// points. Beyond them the nearest line goes on, but never falls as examples grow, and in front of
/// the first point a layer takes at least its share of it. One point alone scales. A number that
/// one of the two points lacks is absent.
ProfilePoint at(const ProfileEntry& entry, double examples);

}  // namespace penstock
