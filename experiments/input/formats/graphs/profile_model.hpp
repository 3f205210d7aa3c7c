#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/input/profiles/profile_rows.hpp"

namespace penstock {

/// Limits on the examples of a point.
struct ProfileRange {
  static constexpr double least_examples = 1e-6;
  static constexpr double most_examples = 1e9;
};

const Fields& fields_of(const MeasuredRow& row);
const Fields& fields_of(const ProfilePoint& point);
const Fields& fields_of(const ProfileEntry& entry);
const Fields& fields_of(const Profile& profile);
/// The JSON Schema of profiles.
std::string_view profile_schema();

/// Collects the points of layers, in any order.
class ProfileBuilder {
 public:
  /// The index of a layer, in order of first mention, and whether this was the first. Entries for
  /// some layers of a kind are apart from those for others of it.
  std::pair<std::size_t, bool> mention(ProfileEntry layer);
  /// False if the layer already has a point for this number of examples.
  bool add(std::size_t layer, const ProfilePoint& point);
  void set_parameter_bytes(std::size_t layer, double bytes);
  /// All layers, with points in ascending order.
  Profile take() &&;

 private:
  Profile profile_;
  std::unordered_map<std::string, std::size_t> positions_;
  std::vector<std::unordered_set<double>> examples_;  // by layer: the examples of its points
};

/// A model with the layers of a profile as a chain. The layers have names and parameters but no
/// times, which depend on the microbatch: see graph_by_times.
ModelFile model_of(Profile profile);

}  // namespace penstock
