#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "validate/job/backend.hpp"
#include "validate/ranks/make_part.hpp"

namespace penstock {

/// Action lengths on a backend that states none.
inline JobLength usual_length(std::uint32_t) { return {}; }

/// A backend: one .cpp in this folder.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  /// Why the backend cannot run a plan here; nothing when it can.
  std::optional<Obstacle> (*obstacle)(const PricedPlan& priced);
  bool runs_layers =
      false;  // runs the layers of a job if it has any; else actions only take their time
  /// Called only without an obstacle.
  std::unique_ptr<Backend> (*make)(const Job& job);
  /// Action lengths that can be measured well with this many ranks.
  JobLength (*length)(std::uint32_t ranks) = usual_length;
  /// Whether its times are wall-clock times, which other load disturbs.
  bool wall_clock = false;
  /// The same for one of several processes; null when unsupported.
  MakePart make_part = nullptr;
};

/// All backends, by name.
std::span<const BackendEntry* const> backend_entries();

}  // namespace penstock
