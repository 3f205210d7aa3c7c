#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "validate/job/backend.hpp"

namespace penstock {

/// How much to measure.
struct MeasuringPlan {
  std::uint32_t iterations = 20;  // clean ones
  double steady = 0.1;            // how far the profiles around a clean one may be apart
  std::uint32_t most_tries = 4;   // for each clean one
  std::optional<std::uint32_t> least =
      {};  // fewer clean ones say nothing; unless stated, all of them
};

/// What was measured of a job.
struct Measurement {
  std::vector<Time> profile;         // by work class: medians of the profiles beside clean ones
  std::vector<Timeline> iterations;  // the clean ones, in the order they ran
  std::uint32_t tried = 0;
  std::map<std::string, std::uint32_t> disturbed = {};  // why others were not clean, and how many
  bool complete = false;                                // enough clean ones
};

/// Profile, run, profile, run …, of the job that the backend was made for: machines drift, so each
/// run stands between two profiles, and where these differ it is not clean ("profiles"), nor where
/// the backend says what disturbed it. The first ones, a third as many as clean ones are wanted,
/// warm up and do not count.
std::variant<Measurement, Standstill> measure(Backend& backend, const Job& job,
                                              const MeasuringPlan& measuring = {});

}  // namespace penstock
