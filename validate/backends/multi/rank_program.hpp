#pragma once

#include <cstdint>
#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What one rank runs: its items as the program of its GPU, a task each. The link of a channel has
/// its number.
struct GpuRankProgram {
  GpuProgram program;
  std::vector<RankItem> items;
  bool carries_layers = false;  // whether tensors between stages hold what layers make
};

/// What a call moves: whole words, and room for a name.
std::uint64_t moved_bytes(std::uint64_t bytes);

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

/// What the actions of a rank do on all SMs of its GPU: those of one GPU that runs a single rank.
struct RankBodies {
  std::vector<GpuBody> bodies = {};                           // by work class; none: all wait
  GpuLayerSizes sizes = {};                                   // of layers
  std::uint64_t most_tensor_bytes = std::uint64_t{16} << 30;  // of buffers of tensors
};
/// Measures how much work takes the time of each action. Throws GpuError, for products and layers
/// also without cuBLASLt.
RankBodies rank_bodies(const GpuDevice& device, const Job& job, std::uint32_t rank,
                       const GpuLayerSizes& sizes = {});

/// The program of a rank in a run. Where actions run layers, each tensor has a buffer of its own as
/// long as it is needed, and layers read and make it, unless all of them would take too much.
GpuRankProgram rank_program(const Job& job, const CommPlan& comms, std::uint32_t rank,
                            const RankBodies& bodies = {});
/// The same in a profile: each work class once, one after the other.
GpuRankProgram rank_profile(const Job& job, const MultiJob& multi, std::uint32_t rank,
                            const RankBodies& bodies = {});

}  // namespace penstock
