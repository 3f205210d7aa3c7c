#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "validate/backend.hpp"

namespace penstock {

/// How much to measure.
struct MeasuringPlan {
  std::uint32_t iterations = 20;  // clean ones
  double steady = 0.1;            // how far the profiles around a clean one may be apart
  std::uint32_t most_tries = 4;   // for each clean one
};

/// What was measured of a job.
struct Measurement {
  std::vector<std::int64_t> profile_ns;  // by work class: medians
  std::vector<Iteration> iterations;     // the clean ones, in the order they ran
  std::uint32_t tried = 0;
  bool complete = false;  // as many clean ones as were wanted
};

/// The middle of some numbers, or between the two in the middle; 0 of none.
double median(std::vector<double> values);

/// Profile, run, profile, run …, of the job that the backend was made for: machines drift, so each
/// run stands between two profiles, and where these differ it is not clean. The first ones warm up
/// and do not count.
std::variant<Measurement, RunFault> measure(Backend& backend, const Job& job,
                                            const MeasuringPlan& measuring = {});

}  // namespace penstock
