#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "validate/backends/cuda/running/gpu_messages.hpp"
#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The communicators of a rank: one of all ranks, and one per channel, split off it.
class RankCommunicators {
 public:
  /// Waits for all ranks. Throws NcclError. The device must outlive it.
  RankCommunicators(const GpuDevice& device, const NcclCalls& nccl,
                    const std::vector<Channel>& channels, std::uint32_t rank, std::uint32_t ranks,
                    const NcclId& id, const CommResources& resources = {},
                    std::chrono::milliseconds stop_limit = std::chrono::seconds(10));
  /// Destroys all, unless aborted.
  ~RankCommunicators();
  RankCommunicators(const RankCommunicators&) = delete;
  RankCommunicators& operator=(const RankCommunicators&) = delete;

  /// For the programs of the rank; the link of a channel has its number.
  const GpuComms& comms() const { return comms_; }

  /// Uses each channel once: connections are made on first use. Checks what arrives, and sums.
  /// Throws NcclError and GpuError.
  void try_channels(const std::vector<Channel>& channels, std::uint32_t rank) const;

  /// Ends all communication of this rank, also what other threads wait for. Once. NCCL may hang in
  /// this: the process ends if it has not returned within the limit to stop.
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

  GpuStream stream_of(std::uint32_t channel) const { return device_.lane(1 + channel); }

  const GpuDevice& device_;
  const NcclCalls& nccl_;
  GpuComms comms_;
  GpuOwner<void> tried_;  // memory of `try_channels`
  std::chrono::milliseconds stop_limit_;

  mutable std::mutex mutex_;   // guards the next
  std::vector<NcclComm> all_;  // made so far
  std::atomic<bool> is_aborted_ = false;
};

/// Watches the communicators of a rank while it runs: asks them for errors ten times a second, and
/// aborts all when one has an error or the time is up. Then whoever waits for the GPU goes on.
class RankWatch {
 public:
  RankWatch(RankCommunicators& communicators, std::chrono::milliseconds limit);
  /// Stops watching.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// Why it aborted; empty if it did not.
  std::string fault() const;
  bool is_late() const;

 private:
  void watch(std::chrono::milliseconds limit);

  RankCommunicators& communicators_;
  mutable std::mutex mutex_;  // guards the next three
  std::string fault_;
  bool is_late_ = false;
  bool done_ = false;
  std::condition_variable wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace penstock
