#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engines/standstill.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// Why a plan cannot be run, and whether another machine could.
struct Obstacle {
  bool of_machine = false;
  std::string text;
};

/// What runs a job for real. It is made for one job, which must outlive it.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Runs each work class of the plan once by itself, waiting for nobody: what each took. Links are
  /// not measured: their classes have what the job says.
  virtual std::vector<Time> profile() = 0;
  /// Runs the job once, on one clock for all ranks. Always ends: a deadlock is a standstill, and so
  /// are tensors that are not those expected.
  virtual RunOutcome run() = 0;
  /// What disturbed the last run, in a word each, so that its times say nothing: "preempted". A
  /// backend whose clocks others on the machine do not disturb has nothing to tell.
  virtual std::vector<std::string> disturbances() const { return {}; }
  /// What the layers of the last run came to, where actions run any.
  virtual std::optional<TrainedNumbers> numbers() const { return std::nullopt; }
  /// What a measured timeline says of where it was measured.
  virtual std::map<std::string, std::string> environment() const = 0;
  /// Why what was run so far says nothing of how far off a simulation is; nothing when it does.
  virtual std::optional<std::string> why_no_score() const { return std::nullopt; }
};

}  // namespace penstock
