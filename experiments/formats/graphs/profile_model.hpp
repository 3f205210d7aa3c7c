#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// What the number of examples of a point may be.
struct ProfileRange {
  static constexpr double least_examples = 1e-6;
  static constexpr double most_examples = 1e9;
};

/// The schema of profiles in JSON, itself JSON.
std::string_view profile_schema();

/// Collects the points of layers, which may come in any order.
class ProfileBuilder {
 public:
  /// The position of a layer among all, in order of first mention, and whether this was the first.
  std::pair<std::size_t, bool> mention(const std::string& layer);
  /// The same of an entry for some layers of a kind, which is another one for others of that kind.
  std::pair<std::size_t, bool> mention(ProfileEntry layer);
  /// False if the layer has a point of as many examples already.
  bool add(std::size_t layer, const ProfilePoint& point);
  void set_parameter_bytes(std::size_t layer, double bytes);
  /// All layers, their points ascending.
  Profile take() &&;

 private:
  Profile profile_;
  std::unordered_map<std::string, std::size_t> positions_;
  std::vector<std::unordered_set<double>> examples_;  // of each layer's points
};

/// A model whose layers are those of a profile, each feeding the next. They have names and
/// parameters but no times, which depend on the microbatch: see graph_at.
ModelFile model_of(Profile profile);

}  // namespace penstock
