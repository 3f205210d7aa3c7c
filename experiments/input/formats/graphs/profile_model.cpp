#include "experiments/input/formats/graphs/profile_model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

std::pair<std::size_t, bool> ProfileBuilder::mention(const std::string& layer) {
  return mention(ProfileEntry{.layer = layer});
}

std::pair<std::size_t, bool> ProfileBuilder::mention(ProfileEntry layer) {
  std::string key = layer.layer;
  for (const auto& [name, value] : layer.numbers) key += fmt::format("\n{}={}", name, value);
  if (layer.sequence) key += fmt::format("\nsequence {}", *layer.sequence);
  if (layer.counts_tokens) key += "\ntokens";
  const auto [found, first] = positions_.emplace(std::move(key), profile_.entries.size());
  if (first) {
    profile_.entries.push_back(std::move(layer));
    examples_.emplace_back();
  }
  return {found->second, first};
}

bool ProfileBuilder::add(std::size_t layer, const ProfilePoint& point) {
  if (!examples_[layer].insert(point.examples).second) return false;
  profile_.entries[layer].points.push_back(point);
  return true;
}

void ProfileBuilder::set_parameter_bytes(std::size_t layer, double bytes) {
  profile_.entries[layer].parameter_bytes = bytes;
}

Profile ProfileBuilder::take() && {
  for (ProfileEntry& entry : profile_.entries) {
    std::sort(entry.points.begin(), entry.points.end(),
              [](const ProfilePoint& a, const ProfilePoint& b) { return a.examples < b.examples; });
  }
  return std::move(profile_);
}

ModelFile model_of(Profile profile) {
  ModelFile file;
  for (const ProfileEntry& entry : profile.entries) {
    Layer layer;
    layer.name = entry.layer;
    layer.parameter_bytes = entry.parameter_bytes;
    file.graph.layers.push_back(std::move(layer));
  }
  file.graph.connect_as_chain();
  file.profile = std::move(profile);
  return file;
}

}  // namespace penstock
