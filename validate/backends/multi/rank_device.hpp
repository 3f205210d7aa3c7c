#pragma once

#include <cstdint>
#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/multi/aligned_clock.hpp"
#include "validate/backends/multi/multi_calls.hpp"

namespace penstock {

/// The GPU of a rank: a stream for its actions and one for each of its channels.
class RankDevice {
 public:
  /// Throws GpuError. `calls` must outlive it.
  RankDevice(const MultiCalls& calls, std::uint32_t channels);

  const MultiCalls& calls() const { return calls_; }
  const GpuCalls& gpu() const { return whole_.calls(); }
  const GpuFacts& facts() const { return whole_.facts(); }
  /// The GPU as that of a program of one rank, which has all SMs.
  const GpuDevice& whole() const { return whole_; }
  GpuStream compute() const { return whole_.lane(0); }
  GpuStream channel(std::uint32_t channel) const { return whole_.lane(1 + channel); }

  /// The GPU's clock against the host's. The stream must be idle. Throws GpuError.
  ClockAnchor anchor() const;
  /// The median step of the GPU's clock.
  std::uint64_t clock_step_ns() const { return clock_step_ns_; }

 private:
  std::uint64_t measured_step_ns() const;

  MultiCalls calls_;
  GpuDevice whole_;
  GpuOwner<void> readings_;
  std::uint64_t clock_step_ns_;
};

}  // namespace penstock
