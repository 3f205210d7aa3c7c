#pragma once

#include <vector>

#include "experiments/measured_runs/iterations.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Times of hosts that run their ops themselves: posting messages, and the program around ops.
struct HostTimes {
  std::vector<std::vector<Time>>
      after;              // by iteration and task: until the rank's next op may begin
  double typical_us = 0;  // median
};

/// Host times between consecutive ops of a rank: between their annotations, and in front of an op
/// as long as in front of ops that receive nothing. The rest in front of an op is its wait. Empty
/// if no op has any, as where a device runs the ops.
HostTimes host_times(const Plan& plan, const std::vector<RunIteration>& iterations);

}  // namespace penstock
