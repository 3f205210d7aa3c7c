#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "validate/job/backend.hpp"

namespace penstock {

/// How much to measure.
struct MeasuringPlan {
  std::uint32_t iterations = 20;  // undisturbed ones
  double steady = 0.1;           // largest difference between the profiles around a clean iteration
  std::uint32_t most_tries = 4;  // per clean iteration
  std::optional<std::uint32_t> least = {};   // below this the result is inconclusive; default all
  std::function<bool()> asked_to_stop = {};  // asked before each run
};

/// A measurement was asked to stop.
struct MeasurementStopped {};

/// The measurement of a job.
struct Measurement {
  std::vector<Time> profile;  // by work class: medians of the profiles around clean iterations
  std::vector<Timeline> iterations;  // the clean ones, in running order
  // By iteration and task: time of the rank's host between an action and the next; empty: none.
  std::vector<std::vector<Time>> host = {};
  std::uint32_t tried = 0;
  std::map<std::string, std::uint32_t> disturbed = {};  // why others were discarded, and how many
  bool complete = false;                                // enough clean iterations
};

/// Alternates profiles and runs of the backend's job. Machines drift, so a run is clean only if the
/// profiles around it agree ("profiles") and the backend reports no disturbance. The first runs, a
/// third of the number wanted, are warm-up and do not count. Throws MeasurementStopped.
std::variant<Measurement, Standstill> measure(Backend& backend, const Job& job,
                                              const MeasuringPlan& measuring = {});

}  // namespace penstock
