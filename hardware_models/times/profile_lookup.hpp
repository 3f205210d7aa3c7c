#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/hardware_spec.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// A profile entry for a layer or a part of it, and the amount in a cell.
struct ProfiledPart {
  const ProfileEntry* entry = nullptr;
  double examples = 0;  // or tokens, when the entry counts tokens
};

/// Finds layers in a profile, which must outlive it.
class ProfileLookup {
 public:
  /// Throws InputError for parameters that no layer of their kind has.
  explicit ProfileLookup(const Profile& profile);

  /// By the layer's name; else by its kind; else each part by kind and parameters. Empty unless all
  /// of it is found.
  std::vector<ProfiledPart> find(const Layer& layer) const;

 private:
  ProfiledPart find(const LayerPart& part, const Layer& layer) const;

  std::map<std::string_view, const ProfileEntry*> by_name_;
  std::map<std::string, const ProfileEntry*> by_numbers_;
};

}  // namespace penstock
