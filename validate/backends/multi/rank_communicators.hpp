#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/multi/rank_device.hpp"
#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The communicators of a rank: one of all ranks, and one per channel, split off it.
class RankCommunicators {
 public:
  /// Waits for all ranks. Throws NcclError. The device must outlive it.
  RankCommunicators(const RankDevice& device, const std::vector<Channel>& channels,
                    std::uint32_t rank, std::uint32_t ranks, const NcclId& id,
                    const CommResources& resources = {});
  /// Destroys all, unless aborted.
  ~RankCommunicators();
  RankCommunicators(const RankCommunicators&) = delete;
  RankCommunicators& operator=(const RankCommunicators&) = delete;

  const NcclCalls& nccl() const { return *device_.calls().nccl; }
  NcclComm world() const { return world_; }
  /// Null if the rank is no member.
  NcclComm of(std::uint32_t channel) const { return channels_[channel]; }

  /// Uses each channel once: connections are made on first use. Checks what arrives, and sums.
  /// Throws NcclError and GpuError.
  void try_channels(const std::vector<Channel>& channels, std::uint32_t rank) const;

  /// Ends all communication of this rank, also what other threads wait for. Once.
  void abort();
  bool is_aborted() const { return is_aborted_; }
  /// An error that a communicator noticed by itself: "a remote process exited …".
  std::optional<std::string> asynchronous_fault() const;

 private:
  void keep(NcclComm comm);
  void split(const std::vector<Channel>& channels, const std::vector<std::uint32_t>& round,
             std::uint32_t rank);
  void try_collective(std::uint32_t channel, std::uint32_t position, std::size_t members) const;
  void try_pair(std::uint32_t channel, std::uint32_t position) const;
  void expect(unsigned char byte, std::uint32_t channel) const;

  const RankDevice& device_;
  NcclComm world_ = nullptr;
  std::vector<NcclComm> channels_;
  GpuOwner<void> tried_;  // memory of `try_channels`

  mutable std::mutex mutex_;   // guards the next
  std::vector<NcclComm> all_;  // made so far
  std::atomic<bool> is_aborted_ = false;
};

}  // namespace penstock
