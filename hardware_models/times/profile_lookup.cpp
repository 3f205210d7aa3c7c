#include "hardware_models/times/profile_lookup.hpp"

#include <fmt/format.h>

#include <optional>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A key for equal parts; absent parameters equal each other.
std::string text_of(const LayerPart& part, std::optional<double> sequence, bool counts_tokens) {
  std::string text = part.kind;
  for (const auto& [name, value] : part.numbers) text += fmt::format("\n{}={}", name, value);
  if (sequence) text += fmt::format("\nsequence {}", *sequence);
  return text + (counts_tokens ? "\ntokens" : "");
}

LayerPart part_of(const Profile& profile, const ProfileEntry& entry) {
  try {
    return {entry.layer, all_numbers_of({.kind = entry.layer, .numbers = entry.numbers})};
  } catch (const InputError& error) {
    throw InputError("/hardware/profile", fmt::format("{}: {}", profile.source, error.what()));
  }
}

}  // namespace

ProfileLookup::ProfileLookup(const Profile& profile) {
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.points.empty()) continue;
    if (entry.numbers.empty()) {
      by_name_.try_emplace(entry.layer, &entry);
    } else {
      by_numbers_.try_emplace(text_of(part_of(profile, entry), entry.sequence, entry.counts_tokens),
                              &entry);
    }
  }
}

ProfiledPart ProfileLookup::find(const LayerPart& part, const Layer& layer) const {
  for (const bool counts_tokens : {false, true}) {
    for (const std::optional<double> sequence : {std::optional(layer.key.sequence), {}}) {
      const auto found = by_numbers_.find(text_of(part, sequence, counts_tokens));
      if (found == by_numbers_.end()) continue;
      return {found->second, layer.key.examples * (counts_tokens ? layer.key.sequence : 1)};
    }
  }
  return {};
}

std::vector<ProfiledPart> ProfileLookup::find(const Layer& layer) const {
  for (const std::string* name : {&layer.name, &layer.key.kind}) {
    const auto found = by_name_.find(*name);
    if (found != by_name_.end()) return {{found->second, layer.key.examples}};
  }
  std::vector<ProfiledPart> parts;
  for (const LayerPart& part : layer.key.parts) {
    parts.push_back(find(part, layer));
    if (parts.back().entry == nullptr) return {};
  }
  return parts;
}

}  // namespace penstock
