#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "validate/backend.hpp"

namespace penstock {

/// Why something cannot be run, and whether another machine could.
struct Obstacle {
  bool of_machine = false;
  std::string text;
};

/// One backend. A backend is one .cpp of this folder.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  /// What is in the way of running a plan here; nothing when it can be run.
  std::optional<Obstacle> (*obstacle)(const Plan& plan);
  /// Made only where there is no obstacle.
  std::unique_ptr<Backend> (*make)(const Job& job);
  /// How long its jobs are to be.
  JobLength length = {};
};

/// All backends, by name.
std::span<const BackendEntry* const> backend_entries();

}  // namespace penstock
