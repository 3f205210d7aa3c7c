#pragma once

#include <span>
#include <string_view>

#include "sim/base/parameters.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock {

/// A kernel that can be measured alone at any shape: one .cpp in this folder.
struct ProbeEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> sizes;
  /// Prepares a sampler; `sizes` are checked and whole.
  Sampler (*make)(const NamedNumbers& sizes);
};

/// All probes, by name.
std::span<const ProbeEntry* const> probe_entries();

}  // namespace penstock
