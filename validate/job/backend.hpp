#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engines/standstill.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// Why a plan cannot run, and whether it could on another machine.
struct Obstacle {
  bool of_machine = false;
  std::string text;
};

/// Runs one job for real. The job must outlive it.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The duration of each work class of the plan, run once without dependencies. Links are measured
  /// only if they are real; otherwise their classes have the times of the job.
  virtual std::vector<Time> profile() = 0;
  /// Runs the job once, with one clock for all ranks. Always ends: deadlocks and unexpected tensors
  /// become standstills.
  virtual RunOutcome run() = 0;
  /// What disturbed the last run and makes its times useless, one word each: "preempted". Empty for
  /// a backend whose clocks other load does not disturb.
  virtual std::vector<std::string> disturbances() const { return {}; }
  /// The results of the layers in the last run, if actions run any.
  virtual std::optional<TrainedNumbers> numbers() const { return std::nullopt; }
  /// How long each layer took in the last run, if the job asks for it and this backend measures it.
  virtual TimesOfLayers layer_times() const { return {}; }
  /// The errors of encoded activations, of the first run, and the memory of the last; nothing where
  /// nothing is encoded.
  virtual std::optional<CodingNumbers> coding() const { return std::nullopt; }
  /// The environment recorded in a measured timeline.
  virtual std::map<std::string, std::string> environment() const = 0;
  /// Why the runs so far cannot score a simulation; nothing when they can.
  virtual std::optional<std::string> why_no_score() const { return std::nullopt; }
};

}  // namespace penstock
