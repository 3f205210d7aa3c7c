#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "tests/support/ptx/gpu_kernels.hpp"
#include "validate/backends/multi/multi_calls.hpp"
#include "validate/machine/shared_memory.hpp"

namespace penstock::testing {

/// Fake GPUs with a fake NCCL, for processes forked from this one; each uses the GPU named by
/// CUDA_VISIBLE_DEVICES. Time is simulated: only kernels and NCCL take any.
///
/// Streams run in turn, wait for events, and run nothing before somebody waits for them. NCCL
/// blocks as the real one: a group starts when its stream comes to it, and ends when all partners
/// have started theirs; sends and receives match by peer and order, and bytes arrive. When no
/// process can go on, waiting fails with the error "standstill". To abort one communicator of
/// several hangs, unless all are aborted in one group. Clocks of GPUs and hosts differ
/// and drift. Only one instance at a time.
class FakeCluster {
 public:
  explicit FakeCluster(std::uint32_t gpus);
  ~FakeCluster();
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;

  // Its properties, set before processes start.
  std::uint32_t gpus;
  std::uint32_t gpus_of_host = 16;
  std::uint64_t latency_ns = 5'000;   // of NCCL, beside 10 bytes per ns
  double drift = 1e-5;                // of the clock of GPU 1, twice that of GPU 2 …
  std::uint64_t standstill_ms = 300;  // how long nobody moves
  int version = 22809;
  bool has_products = true;
  std::uint64_t most_work = 0;  // launches of layers and products beyond it compute nothing
  /// The kernels that its GPUs run, interpreted, as of `ptx::compiled_kernels`. Null: its own.
  const ptx::Kernels* kernels = nullptr;

  /// What a process does at its launch of this number.
  enum class Mishap : std::uint8_t { none, dies, hangs, fails };
  Mishap mishap = Mishap::none;
  std::uint32_t mishap_gpu = 0;
  std::uint64_t mishap_launch = 0;
  bool abort_hangs = false;  // also in a group

  MultiCalls calls() const;
  /// What the communicator of all ranks asked for on a GPU: the least and the most blocks, and
  /// whether to share them.
  std::array<int, 3> resources(std::uint32_t gpu) const;
  /// Calls of NCCL that were aborted, by all processes.
  std::uint32_t aborts() const;

 private:
  NcclCalls nccl_;
  std::unique_ptr<SharedMemory> memory_;
};

}  // namespace penstock::testing
