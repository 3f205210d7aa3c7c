#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/profile.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// An entry that speaks for a layer, or a part of it, and how much of it a cell has.
struct ProfiledPart {
  const ProfileEntry* entry = nullptr;
  double examples = 0;  // or tokens, where the entry counts these
};

/// Finds what a profile, which must outlive it, says of layers.
class ProfileLookup {
 public:
  /// Throws InputError for numbers that no layer of their kind has.
  explicit ProfileLookup(const Profile& profile);

  /// By the layer's name; else by its kind; else each of its parts by kind and numbers. Empty: the
  /// profile does not have all of it.
  std::vector<ProfiledPart> find(const Layer& layer) const;

 private:
  ProfiledPart find(const LayerPart& part, const Layer& layer) const;

  std::map<std::string_view, const ProfileEntry*> by_name_;
  std::map<std::string, const ProfileEntry*> by_numbers_;
};

}  // namespace penstock
