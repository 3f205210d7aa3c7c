#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/validation/validation.hpp"

namespace penstock {

/// A scenario to run in PyTorch's runtime with others of the same model.
struct TorchCandidate {
  std::string name;                  // of its schedule
  std::optional<Scenario> scenario;  // nothing: it does not fit
  std::string left_out;              // why it does not
  bool gives_times = false;          // others are predicted from its traces
};

/// What became of a candidate.
struct TorchOutcome {
  std::string left_out;  // why it did not run
  Validation validation;
};

/// All of them, and the times that predictions used.
struct TorchOutcomes {
  std::vector<TorchOutcome> outcomes;  // by candidate
  std::string profile;                 // a profile file
  std::string scenario;                // one that reads it as profile.json
};

/// Trains by all candidates in turns. Errors of the structure come from traced steps; the profile
/// error compares the median of steps without the profiler with a simulation by the profile of the
/// candidates that give times, or of the first that ran. Throws std::runtime_error without PyTorch.
TorchOutcomes validate_in_torch(const std::vector<TorchCandidate>& candidates,
                                const BackendEntry& backend, const ValidationOptions& options);

/// One scenario, predicted from its own traces. Throws UsageError if PyTorch does not run it.
Validation validate_alone_in_torch(const Scenario& scenario, const BackendEntry& backend,
                                   const ValidationOptions& options);

}  // namespace penstock
