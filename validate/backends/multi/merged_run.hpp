#pragma once

#include <vector>

#include "sim/timeline/timeline.hpp"
#include "validate/backends/multi/aligned_clock.hpp"
#include "validate/backends/multi/rank_executor.hpp"
#include "validate/backends/nccl/comm_meetings.hpp"

namespace penstock {

/// Merges the runs of all ranks.
class RunMerger {
 public:
  RunMerger(const Plan& plan, ChannelRule rule);

  /// All tasks by one clock, from 0 on. `runs` by rank, already by that clock. What several ranks
  /// do together begins when the last of them has come to it; a tensor ends at its reader, a
  /// collective on each rank. Adds every tensor to `causality`. Throws std::runtime_error when a
  /// rank did not send all of its tasks.
  Timeline merge(const std::vector<RankRun>& runs, Causality& causality) const;

 private:
  const Plan& plan_;
  Meetings meetings_;
};

}  // namespace penstock
