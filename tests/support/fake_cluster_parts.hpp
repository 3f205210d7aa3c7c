#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/support/fake_cluster.hpp"

namespace penstock {

struct NcclCommTag {
  std::uint64_t id = 0;
  int rank = 0;
  int size = 0;
  std::uint64_t splits = 0;
  std::map<std::uint64_t, std::uint64_t> calls;  // so far, by what they match
};

namespace testing::fakes {

constexpr std::uint32_t most_gpus = 16;
constexpr std::size_t most_meetings = 1 << 17;  // pages that none of them touches take nothing
constexpr std::size_t payload_bytes = 4096;     // the rest of a tensor does not move

/// Where calls of NCCL find their partners.
struct Encounter {
  std::uint64_t key = 0;  // 0: free
  std::uint32_t here = 0;
  std::int64_t latest_ns = 0;
  std::array<unsigned char, payload_bytes> payload = {};
  std::array<int, most_gpus> color = {};  // of a split, by rank
  std::array<int, most_gpus> key_of = {};
};

/// Shared by all processes.
struct World {
  pthread_mutex_t mutex;
  std::atomic<std::int64_t> host_ns = 1'000'000;
  std::atomic<std::uint64_t> moves = 1;                             // what has been done so far
  std::array<std::atomic<std::uint64_t>, most_gpus> stuck_at = {};  // moves seen; 0: goes on
  std::atomic<std::uint32_t> joined = 0;
  std::atomic<std::uint32_t> aborts = 0;
  std::array<std::array<int, 3>, most_gpus> resources = {};  // of the communicator of all ranks
  std::array<Encounter, most_meetings> meetings;
};

/// A call of NCCL that waits for its group to end.
struct Call {
  std::uint64_t key;
  std::uint32_t needed;
  std::uint64_t bytes;
  const void* from;
  void* to;
  bool sums;
};

struct FakeStream {
  std::deque<std::function<bool()>> work;  // each returns whether it has ended
  std::int64_t now_ns = 0;
};

struct FakeEvent {
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
  std::int64_t ns = 0;
};

/// Of one process.
struct Process {
  std::uint32_t gpu = 0;
  std::set<FakeStream*> streams;
  std::atomic<int> communicators = 0;
  std::uint64_t launches = 0;
  std::uint32_t kernels_run = 0;  // of nvcc: each in another interleaving
  std::atomic<bool> is_aborted = false;
  std::atomic<bool> has_failed = false;
  bool hangs = false;
  std::atomic<std::int64_t> host_ns = 0;  // as far as it knows
  std::atomic<bool> reads_clock = false;  // a reading of its GPU's clock is under way
};

extern FakeCluster* cluster;
extern World* world;
extern Process process;

inline FakeStream* own(GpuStream stream) { return reinterpret_cast<FakeStream*>(stream); }
inline FakeEvent* own(GpuEvent event) { return reinterpret_cast<FakeEvent*>(event); }

/// The lock of a process that was killed with it is taken over.
class Locked {
 public:
  Locked() {
    if (pthread_mutex_lock(&world->mutex) == EOWNERDEAD) pthread_mutex_consistent(&world->mutex);
  }
  ~Locked() { pthread_mutex_unlock(&world->mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// Clocks: the true time is that of `World`, which every process moves on. One that reads its GPU's
// clock does not look at it until it has the answer, or the way there and back would be as uneven
// as the host's scheduler makes it.

/// Known before the GPU is started.
std::uint32_t visible_gpu();
std::int64_t host_ns();
/// Not back.
void move_host(std::int64_t to_ns);
std::string host();

const GpuCalls* gpu_calls();
NcclCalls nccl_calls();

}  // namespace testing::fakes
}  // namespace penstock
