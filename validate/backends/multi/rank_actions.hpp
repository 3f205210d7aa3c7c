#pragma once

#include <memory>

#include "validate/backends/cuda/running/gpu_products.hpp"
#include "validate/backends/multi/rank_device.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What the actions of a rank do on all SMs of its GPU, with the kernels and products of one GPU.
class RankActions {
 public:
  /// Measures how much work takes how long. Throws GpuError, for products also without cuBLASLt.
  /// The device must outlive it.
  RankActions(const RankDevice& device, ActionWork work);

  /// The amount of work that takes this time; 0 for actions that only wait.
  std::uint64_t amount(std::uint64_t duration_ns) const;
  /// Launches an action between its stamps. Throws GpuError.
  void launch(GpuStream stream, const GpuKernelTask& task, std::uint64_t amount) const;

  /// "products"
  const char* name() const;
  /// A hash of the algorithm of products; 0 without them.
  std::uint64_t algorithm() const { return product_ ? product_->algorithm() : 0; }

 private:
  double measured_ns_per_amount() const;

  const RankDevice& device_;
  const GpuCalls& gpu_;
  GpuWork work_;
  GpuOwner<void> sms_seen_;
  GpuOwner<void> memory_;  // of bytes
  std::unique_ptr<GpuMatrixProduct> product_;
  double ns_per_amount_ = 0;
};

}  // namespace penstock
