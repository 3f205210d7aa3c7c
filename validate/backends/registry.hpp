#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "validate/job/backend.hpp"
#include "validate/ranks/make_part.hpp"

namespace penstock {

/// What PyTorch runs on, for a backend of its runtime.
struct TorchDevice {
  std::string_view group;   // of processes: "gloo"; empty: the backend is not PyTorch's
  std::string_view device;  // "cpu"
};

/// A backend: one .cpp in this folder.
struct BackendEntry {
  std::string_view name;
  std::string_view summary;
  /// Why the backend cannot run a plan here; nothing when it can.
  std::optional<Obstacle> (*obstacle)(const PricedPlan& priced);
  bool runs_layers =
      false;            // runs the layers of a job if it has any; else actions only take their time
  bool sleeps = false;  // for that time; else they work
  /// Called only without an obstacle. Null for a backend of PyTorch's runtime, which runs many
  /// iterations of several orders as one program (`experiments/measure/torch_runs`).
  std::unique_ptr<Backend> (*make)(const Job& job);
  /// Action lengths that can be measured well with this many ranks.
  JobLength (*length)(std::uint32_t ranks) = [](std::uint32_t) { return JobLength{}; };
  /// Whether its times are wall-clock times, which other load disturbs.
  bool wall_clock = false;
  double most_structure = 0.005;  // the target of the structure error
  /// The same for one of several processes; null when unsupported.
  MakePart make_part = nullptr;
  TorchDevice torch = {};
  /// Whether links are those of the machine; otherwise the job says what they take.
  bool real_links = false;
  /// In a process that a launcher started for another rank than 0: does its part until rank 0 has
  /// finished, and returns true; throws std::runtime_error when a rank is lost. Null without
  /// launchers.
  bool (*serve)(const Job& job) = nullptr;
  bool one_gpu = false;    // takes the DeviceOptions of a job, but for communicators
  bool many_gpus = false;  // takes their communicators, and work that ranks of several GPUs run
};

/// All backends, by name.
std::span<const BackendEntry* const> backend_entries();

}  // namespace penstock
