#include "tests/support/fake_cluster.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace penstock {

struct NcclCommTag {
  std::uint64_t id = 0;
  int rank = 0;
  int size = 0;
  std::uint64_t splits = 0;
  std::map<std::uint64_t, std::uint64_t> calls;  // so far, by what they match
};

namespace testing {
namespace fakes {  // a fake GPU has the same names
namespace {

constexpr std::uint32_t most_gpus = 16;
constexpr std::size_t most_meetings = 1 << 17;
constexpr std::size_t payload_bytes = 64;
constexpr int launch_failure = 719;
constexpr int standstill = 9999;

/// Where calls of NCCL find their partners.
struct Encounter {
  std::uint64_t key = 0;  // 0: free
  std::uint32_t here = 0;
  std::uint32_t needed = 0;
  std::int64_t latest_ns = 0;
  std::uint64_t bytes = 0;
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
  std::array<Encounter, most_meetings> meetings;
};

/// A call of NCCL that waits for its group to end.
struct Call {
  NcclComm comm;
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
  int group_depth = 0;
  std::map<FakeStream*, std::vector<Call>> group;
  std::uint64_t launches = 0;
  std::atomic<bool> is_aborted = false;
  std::atomic<bool> has_failed = false;
  bool hangs = false;
};

FakeCluster* cluster = nullptr;
World* world = nullptr;
Process process;

FakeStream* own(GpuStream stream) { return reinterpret_cast<FakeStream*>(stream); }
FakeEvent* own(GpuEvent event) { return reinterpret_cast<FakeEvent*>(event); }

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

void move_host(std::int64_t to_ns) {
  std::int64_t now = world->host_ns;
  while (now < to_ns && !world->host_ns.compare_exchange_weak(now, to_ns)) continue;
}

// Clocks: the true time is that of `World`.

/// Known before the GPU is started.
std::uint32_t visible_gpu() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? 0 : static_cast<std::uint32_t>(std::atoi(visible));
}
std::uint32_t this_host() { return visible_gpu() / cluster->gpus_of_host; }
std::int64_t host_offset_ns() { return std::int64_t{this_host()} * 7'000'000'000; }
double gpu_drift() { return cluster->drift * process.gpu; }
std::int64_t gpu_ns(std::int64_t ns) {
  const std::int64_t offset = 1'700'000'000'000'000'000 + std::int64_t{process.gpu} * 98'765'432;
  return offset + ns + static_cast<std::int64_t>(static_cast<double>(ns) * gpu_drift());
}

std::int64_t host_ns() { return world->host_ns.fetch_add(50) + 50 + host_offset_ns(); }
std::string host() { return fmt::format("host {}", this_host()); }

// The GPU.

const char* error_name(int error) {
  if (error == standstill) return "standstill";
  return error == launch_failure ? "cudaErrorLaunchFailure" : "cudaError";
}

int count_devices(int* count) {
  *count = static_cast<int>(cluster->gpus);
  return 0;
}

int start() {
  process.gpu = visible_gpu();
  return process.gpu < cluster->gpus ? 0 : 101;
}

int facts(GpuFacts* all) {
  std::strcpy(all->name.data(), "fake GPU");
  *all = {all->name, 9, 0, 132, 2048, 32, 13000, 13000};
  return 0;
}

int make_stream(GpuStream* stream) {
  auto* const made = new FakeStream;
  process.streams.insert(made);
  *stream = reinterpret_cast<GpuStream>(made);
  return 0;
}

int free_stream(GpuStream stream) {
  process.streams.erase(own(stream));
  delete own(stream);
  return 0;
}

int make_event(GpuEvent* event) {
  *event = reinterpret_cast<GpuEvent>(new FakeEvent);
  return 0;
}

int free_event(GpuEvent event) {
  delete own(event);
  return 0;
}

int record(GpuEvent event, GpuStream stream) {
  const std::uint64_t number = ++own(event)->recorded;
  own(stream)->work.push_back([=] {
    own(event)->reached = number;
    own(event)->ns = own(stream)->now_ns;
    return true;
  });
  return 0;
}

/// For what was recorded so far: nothing if nothing was.
int wait(GpuStream stream, GpuEvent event) {
  const std::uint64_t number = own(event)->recorded;
  own(stream)->work.push_back([=] {
    if (own(event)->reached < number) return false;
    own(stream)->now_ns = std::max(own(stream)->now_ns, own(event)->ns);
    return true;
  });
  return 0;
}

/// Returns whether anything moved.
bool run_streams() {
  bool moved = false;
  for (FakeStream* const stream : process.streams) {
    while (!process.hangs && !stream->work.empty() && stream->work.front()()) {
      stream->work.pop_front();
      moved = true;
    }
  }
  if (moved) ++world->moves;
  return moved;
}

bool all_are_stuck() {
  const std::uint64_t moves = world->moves;
  for (std::uint32_t gpu = 0; gpu < world->joined; ++gpu) {
    if (world->stuck_at[gpu] != moves) return false;
  }
  return true;
}

/// Waits until a stream is empty.
int synchronize(GpuStream stream) {
  auto stuck_since = std::chrono::steady_clock::now();
  while (!own(stream)->work.empty()) {
    if (process.is_aborted) {
      for (FakeStream* const one : process.streams) one->work.clear();
      return launch_failure;
    }
    const auto now = std::chrono::steady_clock::now();
    if (run_streams()) {
      world->stuck_at[process.gpu] = 0;
      stuck_since = now;
      continue;
    }
    world->stuck_at[process.gpu] = world->moves.load();
    const bool long_enough = now - stuck_since > std::chrono::milliseconds(cluster->standstill_ms);
    if (!all_are_stuck()) stuck_since = now;
    if (long_enough && all_are_stuck()) return standstill;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  world->stuck_at[process.gpu] = 0;
  move_host(own(stream)->now_ns);
  return 0;
}

int allocate(void** memory, std::size_t bytes) {
  *memory = std::calloc(bytes, 1);
  return *memory == nullptr ? 2 : 0;
}

int free_memory(void* memory) {
  std::free(memory);
  return 0;
}

int fill(void* memory, int byte, std::size_t bytes, GpuStream stream) {
  own(stream)->work.push_back([=] {
    std::memset(memory, byte, bytes);
    return true;
  });
  return 0;
}

int write(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}

/// Runs a kernel, which writes its stamps.
void run_kernel(FakeStream* stream, const GpuKernelTask& task) {
  const std::int64_t begin = stream->now_ns;
  const auto slower = 1 + gpu_drift();
  stream->now_ns += std::llround(static_cast<double>(task.duration_ns) / slower);
  const auto began = static_cast<std::uint64_t>(gpu_ns(begin));
  const auto ended = static_cast<std::uint64_t>(gpu_ns(stream->now_ns));
  task.begin_ns[task.task] = std::min(task.begin_ns[task.task], began);
  task.end_ns[task.task] = std::max(task.end_ns[task.task], ended);
}

void suffer_mishap() {
  if (process.gpu != cluster->mishap_gpu || ++process.launches != cluster->mishap_launch) return;
  if (cluster->mishap == FakeCluster::Mishap::dies) kill(getpid(), SIGKILL);
  process.hangs = cluster->mishap == FakeCluster::Mishap::hangs ||
                  cluster->mishap == FakeCluster::Mishap::fails;
  process.has_failed = cluster->mishap == FakeCluster::Mishap::fails;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  suffer_mishap();
  own(stream)->work.push_back([=] {
    run_kernel(own(stream), kernel.task);
    return true;
  });
  return 0;
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  own(stream)->work.push_back([=] {
    run_kernel(own(stream), kernel.task);
    std::memcpy(kernel.to, kernel.from, std::min(kernel.bytes, kernel.buffer_bytes));
    return true;
  });
  return 0;
}

int launch_nothing(GpuStream) { return 0; }

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  constexpr std::int64_t takes_ns = 1'000;  // each way
  constexpr std::int64_t step_ns = 32;
  own(stream)->work.push_back([=] {
    own(stream)->now_ns = std::max(own(stream)->now_ns, world->host_ns.load()) + takes_ns;
    for (std::uint32_t at = 0; at < count; ++at) {
      readings[at] = static_cast<std::uint64_t>(gpu_ns(own(stream)->now_ns + at * step_ns));
    }
    own(stream)->now_ns += takes_ns;
    return true;
  });
  return 0;
}

// NCCL.

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

int comm_init_rank(NcclComm* comm, int ranks, NcclId id, int rank) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof number);
  std::uint32_t users = 0;  // of this GPU
  gather(mixed(number, 1), static_cast<std::uint32_t>(ranks), [&](Encounter& meeting) {
    users = static_cast<std::uint32_t>(++meeting.color[process.gpu]);
  });
  if (users > 1) return 5;
  world->joined = static_cast<std::uint32_t>(ranks);
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
  return 0;
}

int comm_get_async_error(NcclComm, int* error) {
  *error = process.has_failed ? 6 : 0;
  return 0;
}

int comm_destroy(NcclComm comm) {
  delete comm;
  return 0;
}

int comm_abort(NcclComm) {  // what others may still hold is not freed
  process.is_aborted = true;
  ++world->aborts;
  return 0;
}

/// Tells the partners that a call has started.
void arrive(const Call& call, std::int64_t now_ns) {
  const Locked lock;
  Encounter& meeting = meeting_of(call.key);
  meeting.latest_ns = std::max(meeting.latest_ns, now_ns);
  meeting.bytes = call.bytes;
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
  ++process.group_depth;
  return 0;
}

int group_end() {
  if (--process.group_depth > 0) return 0;
  for (const auto& [stream, calls] : process.group) enqueue_group(stream, calls);
  process.group.clear();
  return 0;
}

int issue(GpuStream stream, const Call& call) {
  group_start();
  process.group[own(stream)].push_back(call);
  return group_end();
}

/// A call of its number among those that it may match.
std::uint64_t key_of(NcclComm comm, std::uint64_t kind, int from, int to) {
  const std::uint64_t row = mixed(mixed(comm->id, kind), static_cast<std::uint64_t>(from) << 16 |
                                                             static_cast<std::uint64_t>(to));
  return mixed(row, 1000 + comm->calls[row]++);
}

std::size_t bytes_of(std::size_t count, int type) { return type == nccl_uint8 ? count : 2 * count; }

/// One counts what it sends and one what it receives, so each has its own numbers.
std::uint64_t key_of_pair(NcclComm comm, int from, int to, bool sends) {
  const std::uint64_t row = mixed(
      mixed(comm->id, 3), static_cast<std::uint64_t>(from) << 16 | static_cast<std::uint64_t>(to));
  return mixed(row, 1000 + comm->calls[row ^ (sends ? 2U : 4U)]++);
}

int send(const void* from, std::size_t count, int type, int peer, NcclComm comm, GpuStream stream) {
  return issue(stream, {comm, key_of_pair(comm, comm->rank, peer, true), 2, bytes_of(count, type),
                        from, nullptr, false});
}

int recv(void* to, std::size_t count, int type, int peer, NcclComm comm, GpuStream stream) {
  return issue(stream, {comm, key_of_pair(comm, peer, comm->rank, false), 2, bytes_of(count, type),
                        nullptr, to, false});
}

int collective(std::uint64_t kind, const void* from, void* to, std::size_t bytes, NcclComm comm,
               GpuStream stream) {
  return issue(stream, {comm, key_of(comm, kind, 0, 0), static_cast<std::uint32_t>(comm->size),
                        bytes, from, to, true});
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

GpuCalls made_gpu_calls() {
  GpuCalls all{};
  all.error_name = error_name;
  all.count_devices = count_devices;
  all.start = start;
  all.facts = facts;
  all.make_stream = make_stream;
  all.free_stream = free_stream;
  all.synchronize = synchronize;
  all.make_event = make_event;
  all.free_event = free_event;
  all.record = record;
  all.wait = wait;
  all.allocate = allocate;
  all.free_memory = free_memory;
  all.fill = fill;
  all.write = write;
  all.read = write;
  all.launch_action = launch_action;
  all.launch_copy = launch_copy;
  all.launch_nothing = launch_nothing;
  all.launch_clock_reader = launch_clock_reader;
  return all;
}

const GpuCalls* gpu_calls() {
  static const GpuCalls calls = made_gpu_calls();
  return &calls;
}

}  // namespace
}  // namespace fakes

FakeCluster::FakeCluster(std::uint32_t count)
    : gpus(count),
      nccl_{fakes::get_version,
            fakes::get_unique_id,
            fakes::get_error_string,
            fakes::get_last_error,
            fakes::comm_init_rank,
            fakes::comm_split,
            fakes::comm_get_async_error,
            fakes::comm_destroy,
            fakes::comm_abort,
            fakes::group_start,
            fakes::group_end,
            fakes::send,
            fakes::recv,
            fakes::all_reduce,
            fakes::reduce_scatter,
            fakes::all_gather},
      memory_(std::make_unique<SharedMemory>(sizeof(fakes::World) + 64)) {
  fakes::cluster = this;
  // Zeroed memory is a world without meetings; constructing all would touch every page.
  fakes::world =
      reinterpret_cast<fakes::World*>(memory_->take(sizeof(fakes::World), alignof(fakes::World)));
  fakes::world->host_ns = 1'000'000;
  fakes::world->moves = 1;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&fakes::world->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

FakeCluster::~FakeCluster() {
  fakes::cluster = nullptr;
  fakes::world = nullptr;
}

MultiCalls FakeCluster::calls() const {
  return {fakes::gpu_calls, &nccl_, fakes::host_ns, fakes::host};
}

std::uint32_t FakeCluster::aborts() const { return fakes::world->aborts; }

}  // namespace testing
}  // namespace penstock
