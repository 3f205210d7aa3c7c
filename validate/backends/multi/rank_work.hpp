#pragma once

#include <cstdint>
#include <vector>

#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What one rank runs.
struct RankWork {
  std::uint32_t rank = 0;
  std::vector<Channel> channels;
  std::vector<RankItem> items;
  std::vector<std::uint64_t> duration_ns;  // by item; 0 for groups
  bool in_one_stream = false;              // else a stream per channel beside the actions
};

/// When a task of a rank ran, by one of its clocks.
struct RankStamp {
  TaskId task;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

/// A plan with each work class as the task of its number, without dependencies: all ranks come to a
/// link at the same place.
Plan profile_plan(const Plan& plan);

/// A job with its calls of NCCL, and the same for its profile, over the same channels.
struct MultiJob {
  CommPlan comms;
  Job profile;
  CommPlan profile_comms;
};
MultiJob multi_job(const Job& job, ChannelRule rule);

RankWork rank_work(const Job& job, const CommPlan& comms, std::uint32_t rank);

}  // namespace penstock
