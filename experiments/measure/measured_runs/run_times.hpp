#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/measure/measured_runs/iterations.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

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

/// How long a tensor takes over a link.
struct LinkTime {
  Link link;
  double us = 0;
};

/// Transfer times, derived from the ops at both ends.
struct TransferTimes {
  std::vector<Time> by_class;  // by work class, whole nanoseconds; 0 for actions
  // Median over all readers that waited for a tensor of a link that is not slow.
  std::optional<std::int64_t> typical_ns;
  std::vector<LinkTime> least;  // by link: of all readers, behind what sent their tensors
  // Those that three readers waited for, and `is_slow` of what half of them do not exceed.
  std::vector<LinkTime> slow;
  double action_ns = 0;             // the median length of an action
  std::int64_t clock_error_ns = 0;  // the most that a reader began before its tensor was sent
};

/// Whether a time is more than twice the usual one, and longer by 2 % of an action.
bool is_slow(double ns, double usual_ns, double action_ns);

/// For each link and pass: the median time from when a tensor could leave to the begin of its
/// reader, over readers whose rank was free by then. It leaves once what its transfer waits for has
/// ended and the one before has left the link. If no reader's rank ever was, the median of other
/// links, and at most the minimum; never below 0. Only reads the spans of actions. `host_after`, by
/// iteration and task, is what a rank's host does behind an action; the action has ended and the
/// rank is free only then. It may be empty.
TransferTimes transfer_times(const Plan& plan, const std::vector<Timeline>& iterations,
                             const std::vector<std::vector<Time>>& host_after);

/// Sets the spans of transfers and the last inputs of all tasks. A transfer starts when what it
/// waits for has ended and its link is free, and takes the time of its class, or less if its reader
/// begins earlier.
void place_transfers(const Plan& plan, const TransferTimes& times, Timeline& timeline);

}  // namespace penstock
