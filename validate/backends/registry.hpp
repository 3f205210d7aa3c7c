#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "validate/job/backend.hpp"
#include "validate/ranks/make_part.hpp"

namespace penstock {

/// How long jobs take on a backend that states nothing of its own.
inline JobLength usual_length(std::uint32_t) { return {}; }

/// One backend. A backend is one .cpp of this folder.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  /// What is in the way of running a plan here; nothing when it can be run.
  std::optional<Obstacle> (*obstacle)(const Plan& plan);
  bool runs_layers = false;  // of a job that has some; else its actions take their times only
  /// Made only where there is no obstacle.
  std::unique_ptr<Backend> (*make)(const Job& job);
  /// How long the actions of so many ranks should take, to be measured well.
  JobLength (*length)(std::uint32_t ranks) = usual_length;
  /// Whether its times are real ones, which everything else on the machine disturbs.
  bool wall_clock = false;
  /// The same for one of several processes; none where these cannot share a run.
  MakePart make_part = nullptr;
};

/// All backends, by name.
std::span<const BackendEntry* const> backend_entries();

}  // namespace penstock
