// The fake NCCL of a fake cluster: calls find their partners in shared memory.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fake_cluster_parts.hpp"
#include "validate/backends/cuda/nccl_calls.hpp"

namespace penstock::testing::fakes {
namespace {

/// Of each thread.
struct Group {
  int depth = 0;
  std::map<FakeStream*, std::vector<Call>> calls;
  int aborts = 0;
};
thread_local Group group;

[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
  hash ^= hash >> 32;
  return hash | 1;
}

/// Only with the lock.
Encounter& meeting_of(std::uint64_t key) {
  for (std::size_t probe = 0; probe < most_meetings; ++probe) {
    Encounter& one = world->meetings[(key + probe) % most_meetings];
    if (one.key == key) return one;
    if (one.key != 0) continue;
    one.key = key;
    return one;
  }
  std::abort();
}

int get_version(int* version) {
  *version = cluster->version;
  return 0;
}

int get_unique_id(NcclId* id) {
  const std::uint64_t number = mixed(static_cast<std::uint64_t>(getpid()), ++world->moves);
  std::memcpy(id->bytes.data(), &number, sizeof number);
  return 0;
}

const char* get_error_string(int error) {
  return error == 6 ? "remote process exited" : error == 5 ? "invalid usage" : "error";
}
const char* get_last_error(NcclComm) { return ""; }

/// Waits on the host until all have come.
void gather(std::uint64_t key, std::uint32_t needed, const std::function<void(Encounter&)>& add) {
  {
    const Locked lock;
    Encounter& meeting = meeting_of(key);
    add(meeting);
    ++meeting.here;
  }
  while (true) {
    {
      const Locked lock;
      if (meeting_of(key).here >= needed) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

int comm_init_rank(NcclComm* comm, int ranks, NcclId id, int rank, void* config) {
  const auto* const wanted = static_cast<const NcclConfig*>(config);
  if (wanted == nullptr || wanted->magic != NcclConfig{}.magic) return 5;
  world->resources[process.gpu] = {wanted->least_blocks, wanted->most_blocks, wanted->split_share};
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof number);
  std::uint32_t users = 0;  // of this GPU
  gather(mixed(number, 1), static_cast<std::uint32_t>(ranks), [&](Encounter& meeting) {
    users = static_cast<std::uint32_t>(++meeting.color[process.gpu]);
  });
  if (users > 1 && std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") == nullptr) return 5;
  world->joined = static_cast<std::uint32_t>(ranks);
  ++process.communicators;
  *comm = new NcclCommTag{number, rank, ranks, 0, {}};
  return 0;
}

int comm_split(NcclComm comm, int color, int key, NcclComm* made, void*) {
  const std::uint64_t number = mixed(mixed(comm->id, 2), ++comm->splits);
  gather(number, static_cast<std::uint32_t>(comm->size), [&](Encounter& meeting) {
    meeting.color[static_cast<std::size_t>(comm->rank)] = color;
    meeting.key_of[static_cast<std::size_t>(comm->rank)] = key;
  });
  *made = nullptr;
  if (color < 0) return 0;
  const Locked lock;
  const Encounter& all = meeting_of(number);
  auto* const part = new NcclCommTag{mixed(number, static_cast<std::uint64_t>(color)), 0, 0, 0, {}};
  for (int rank = 0; rank < comm->size; ++rank) {
    if (all.color[static_cast<std::size_t>(rank)] != color) continue;
    ++part->size;
    if (all.key_of[static_cast<std::size_t>(rank)] < key) ++part->rank;
  }
  *made = part;
  ++process.communicators;
  return 0;
}

int comm_get_async_error(NcclComm, int* error) {
  *error = process.has_failed ? 6 : 0;
  return 0;
}

int comm_destroy(NcclComm comm) {
  --process.communicators;
  delete comm;
  return 0;
}

/// What others may still hold is not freed.
int end_aborts() {
  if (group.aborts == 0) return 0;
  if (cluster->abort_hangs || group.aborts < process.communicators) hang();
  process.communicators -= std::exchange(group.aborts, 0);
  process.is_aborted = true;
  return 0;
}

int comm_abort(NcclComm) {
  ++world->aborts;
  ++group.aborts;
  return group.depth > 0 ? 0 : end_aborts();
}

/// Tells the partners that a call has started.
void arrive(const Call& call, std::int64_t now_ns) {
  const Locked lock;
  Encounter& meeting = meeting_of(call.key);
  meeting.latest_ns = std::max(meeting.latest_ns, now_ns);
  ++meeting.here;
  if (call.from == nullptr) return;
  const auto* const data = static_cast<const unsigned char*>(call.from);
  for (std::size_t at = 0; at < std::min<std::size_t>(call.bytes, payload_bytes); ++at) {
    meeting.payload[at] =
        static_cast<unsigned char>((call.sums ? meeting.payload[at] : 0) + data[at]);
  }
}

/// When all partners have started, or nothing.
bool has_all(const Call& call, std::int64_t& latest_ns) {
  const Locked lock;
  const Encounter& meeting = meeting_of(call.key);
  if (meeting.here < call.needed) return false;
  latest_ns = std::max(latest_ns, meeting.latest_ns);
  return true;
}

void end_call(const Call& call) {
  if (call.to == nullptr) return;
  const Locked lock;
  std::memcpy(call.to, meeting_of(call.key).payload.data(),
              std::min<std::size_t>(call.bytes, payload_bytes));
}

void enqueue_group(FakeStream* stream, const std::vector<Call>& calls) {
  auto started = std::make_shared<bool>(false);
  stream->work.push_back([=] {
    if (!*started) {
      for (const Call& call : calls) arrive(call, stream->now_ns);
      ++world->moves;
      *started = true;
    }
    std::int64_t latest_ns = stream->now_ns;
    std::uint64_t bytes = 0;
    for (const Call& call : calls) {
      if (!has_all(call, latest_ns)) return false;
      bytes = std::max(bytes, call.bytes);
    }
    for (const Call& call : calls) end_call(call);
    stream->now_ns = latest_ns + static_cast<std::int64_t>(cluster->latency_ns + bytes / 10);
    return true;
  });
}

int group_start() {
  ++group.depth;
  return 0;
}

int group_end() {
  if (--group.depth > 0) return 0;
  for (const auto& [stream, calls] : group.calls) enqueue_group(stream, calls);
  group.calls.clear();
  return end_aborts();
}

int issue(GpuStream stream, const Call& call) {
  group_start();
  group.calls[own(stream)].push_back(call);
  return group_end();
}

/// A call of its number among those that it may match. Senders and receivers count by themselves:
/// `counts` tells them apart.
std::uint64_t key_of(NcclComm comm, std::uint64_t kind, int from, int to,
                     std::uint64_t counts = 0) {
  const std::uint64_t row = mixed(mixed(comm->id, kind), static_cast<std::uint64_t>(from) << 16 |
                                                             static_cast<std::uint64_t>(to));
  return mixed(row, 1000 + comm->calls[row ^ counts]++);
}

std::size_t bytes_of(std::size_t count, int type) { return type == nccl_uint8 ? count : 2 * count; }

int send(const void* from, std::size_t count, int type, int peer, NcclComm comm, GpuStream stream) {
  return issue(stream, {key_of(comm, 3, comm->rank, peer, 2), 2, bytes_of(count, type), from,
                        nullptr, false});
}

int recv(void* to, std::size_t count, int type, int peer, NcclComm comm, GpuStream stream) {
  return issue(
      stream, {key_of(comm, 3, peer, comm->rank, 4), 2, bytes_of(count, type), nullptr, to, false});
}

int collective(std::uint64_t kind, const void* from, void* to, std::size_t bytes, NcclComm comm,
               GpuStream stream) {
  return issue(stream, {key_of(comm, kind, 0, 0), static_cast<std::uint32_t>(comm->size), bytes,
                        from, to, true});
}

int all_reduce(const void* from, void* to, std::size_t count, int type, int, NcclComm comm,
               GpuStream stream) {
  return collective(5, from, to, bytes_of(count, type), comm, stream);
}
int reduce_scatter(const void* from, void* to, std::size_t count, int type, int, NcclComm comm,
                   GpuStream stream) {
  return collective(6, from, to, bytes_of(count, type), comm, stream);
}
int all_gather(const void* from, void* to, std::size_t count, int type, NcclComm comm,
               GpuStream stream) {
  return collective(7, from, to, bytes_of(count, type), comm, stream);
}

}  // namespace

NcclCalls nccl_calls() {
  return {get_version,
          get_unique_id,
          get_error_string,
          get_last_error,
          comm_init_rank,
          comm_split,
          comm_get_async_error,
          comm_destroy,
          comm_abort,
          group_start,
          group_end,
          send,
          recv,
          all_reduce,
          reduce_scatter,
          all_gather};
}

}  // namespace penstock::testing::fakes
