#pragma once

#include <string>

#include "validate/backends/cuda/running/gpu_actions.hpp"
#include "validate/backends/multi/rank_device.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What the actions of a rank do on all SMs of its GPU: those of one GPU that runs a single rank.
class RankActions {
 public:
  /// Measures how much work takes the time of each action. `program` is of one rank. Throws
  /// GpuError, for products and layers also without cuBLASLt. The device must outlive it.
  RankActions(const RankDevice& device, ActionWork work, GpuProgram program);
  RankActions(const RankActions&) = delete;
  RankActions& operator=(const RankActions&) = delete;

  const GpuActions& launched() const { return actions_; }
  const GpuProgram& program() const { return program_; }

  /// "products"
  std::string name() const;
  /// The sizes of layers; empty for other actions.
  std::string layers() const;

 private:
  GpuWork work_;
  GpuProgram program_;
  GpuActions actions_;
};

}  // namespace penstock
