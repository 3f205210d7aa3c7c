#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The actions of a rank as the program of its GPU: those of a work class have one body, and each
/// microbatch of a stage a buffer slot.
struct GpuRankProgram {
  GpuProgram program;
  std::vector<std::uint32_t> of_task;   // by task of the plan: its number there, or no_task
  std::vector<std::uint32_t> of_class;  // by work class: a task there of its work, or no_task
};
/// `sizes`: of layers, where actions run these.
GpuRankProgram gpu_rank_program(const Job& job, std::uint32_t rank,
                                const GpuLayerSizes& sizes = {});

/// A tensor among the buffers of its channel.
struct RankTensor {
  std::uint32_t channel;
  std::uint32_t slot;
  std::uint64_t bytes;
};

/// An action of a rank, and the tensors between it and other stages. Between stages of one rank, F
/// copies at its begin, B and I at their end: then both microbatches have their buffers.
struct RankAction {
  std::uint32_t task = 0;                         // of the rank's program
  std::optional<std::uint32_t> reads_from = {};   // of F: that of the stage before it
  std::optional<std::uint32_t> writes_into = {};  // of B or I: that of the stage before it
  std::optional<RankTensor> reads = {};
  std::vector<RankTensor> makes = {};
};

/// The buffers of a channel. All of them have room for any of its tensors.
struct RankRing {
  std::uint32_t sent = 1;
  std::uint32_t received = 1;
};

/// What one rank runs.
struct RankWork {
  std::uint32_t rank = 0;
  std::vector<Channel> channels;
  std::vector<RankItem> items;
  std::vector<std::uint64_t> duration_ns;         // by item; 0 for groups
  std::vector<std::vector<RankAction>> actions;   // by item: none for groups, two in fused cells
  std::vector<std::vector<std::uint32_t>> slots;  // by item and call of a group; none: all 0
  std::vector<RankRing> rings = {};               // by channel; none: one buffer each way
  bool in_one_stream = false;                     // else a stream per channel beside the actions
};

/// What a call moves: whole words, and room for a tag.
std::uint64_t moved_bytes(std::uint64_t bytes);
/// A tensor begins with a tag that names it.
constexpr std::size_t tag_bytes = 16;

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

/// The work of a rank in a run. Where actions run layers, each tensor has a buffer of its own as
/// long as it is needed, and layers read and make it, unless all of them would take too much.
RankWork rank_work(const Job& job, const CommPlan& comms, const GpuRankProgram& program,
                   std::uint32_t rank);
/// The same in a profile: each work class once, one after the other.
RankWork profile_work(const Job& job, const MultiJob& multi, const GpuRankProgram& program,
                      std::uint32_t rank);

}  // namespace penstock
