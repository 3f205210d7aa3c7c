#pragma once

#include <cstdint>
#include <vector>

#include "experiments/measure/measured_runs/iterations.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The time of a rank's host between its ops in a step: the median of the steps.
struct HostShare {
  double us = 0;
  double ops = 0;       // behind which it passes
  double messages = 0;  // that these ops send, and those behind them receive
};

/// Times of hosts that run their ops themselves: posting messages, and the program around ops.
struct HostTimes {
  std::vector<std::vector<Time>>
      after;              // by iteration and task: until the rank's next op may begin
  double typical_us = 0;  // behind an op: the mean in a step, the median of the steps
  std::vector<HostShare> by_rank;
};

/// How many tensors actions send to other ranks and receive from them, by task.
struct Messages {
  std::vector<std::uint32_t> sent;
  std::vector<std::uint32_t> received;
};
Messages messages_of(const Plan& plan);

/// Host times between consecutive ops of a rank: between their annotations, and in front of an op
/// as long as in front of ops that receive nothing. The rest in front of an op is its wait. Empty
/// if no op has any, as where a device runs the ops.
HostTimes host_times(const Plan& plan, const std::vector<RunIteration>& iterations);

}  // namespace penstock
