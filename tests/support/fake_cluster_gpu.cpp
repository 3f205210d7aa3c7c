// The fake GPUs of a fake cluster: streams, events, kernels and clocks.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/support/fake_cluster_parts.hpp"
#include "tests/support/fake_work.hpp"

namespace penstock::testing::fakes {
namespace {

constexpr int launch_failure = 719;
constexpr int standstill = 9999;

double gpu_drift() { return cluster->drift * process.gpu; }
std::int64_t gpu_ns(std::int64_t ns) {
  const std::int64_t offset = 1'700'000'000'000'000'000 + std::int64_t{process.gpu} * 98'765'432;
  return offset + ns + static_cast<std::int64_t>(static_cast<double>(ns) * gpu_drift());
}

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
  *all = {all->name, 9, 0, 132, 2048, 32, 13000, 13000, std::uint64_t{1} << 36};
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

/// Work that ends as soon as its stream comes to it.
int enqueue(GpuStream stream, const std::function<void()>& work) {
  own(stream)->work.push_back([=] {
    work();
    return true;
  });
  return 0;
}

int record(GpuEvent event, GpuStream stream) {
  const std::uint64_t number = ++own(event)->recorded;
  return enqueue(stream, [=] {
    own(event)->reached = number;
    own(event)->ns = own(stream)->now_ns;
  });
}

int elapsed(float* ms, GpuEvent begin, GpuEvent end) {
  *ms = static_cast<float>(own(end)->ns - own(begin)->ns) * 1e-6F;
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
  return enqueue(stream, [=] { fill_memory(memory, byte, bytes); });
}

int copy_within(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  return enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

int write(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}

constexpr std::uint64_t fake_sms = 132;

void stamp_begin(const GpuKernelTask& task, std::int64_t ns) {
  std::uint64_t& stamp = task.begin_ns[task.task];
  stamp = std::min(stamp, static_cast<std::uint64_t>(gpu_ns(ns)));
}

void stamp_end(const GpuKernelTask& task, std::int64_t ns) {
  std::uint64_t& stamp = task.end_ns[task.task];
  stamp = std::max(stamp, static_cast<std::uint64_t>(gpu_ns(ns)));
}

/// Takes this long by its own clock.
void pass_time(FakeStream* stream, std::uint64_t ns) {
  stream->now_ns += std::llround(static_cast<double>(ns) / (1 + gpu_drift()));
}

/// Runs a kernel, which writes its stamps.
void run_kernel(FakeStream* stream, const GpuKernelTask& task, std::uint64_t ns) {
  stamp_begin(task, stream->now_ns);
  pass_time(stream, ns);
  stamp_end(task, stream->now_ns);
}

/// Runs a kernel of nvcc from now on, if there are any: `run` gives its end by the clock of the
/// GPU.
template <class Run, class... Arguments>
bool run_compiled(FakeStream* stream, const Run& run, const Arguments&... arguments) {
  if (cluster->kernels == nullptr) return false;
  ptx::Launch at;
  at.begin_ns = static_cast<std::uint64_t>(gpu_ns(stream->now_ns));
  at.sms = fake_sms;
  at.seed = process.kernels_run++;
  pass_time(stream, run(*cluster->kernels, at, arguments...) - at.begin_ns);
  return true;
}

int launch_begin(GpuStream stream, const GpuKernelTask& task) {
  return enqueue(stream, [=] {
    if (run_compiled(own(stream), ptx::run_begin, task)) return;
    stamp_begin(task, own(stream)->now_ns);
  });
}

int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives) {
  return enqueue(stream, [=] {
    if (run_compiled(own(stream), ptx::run_end, task, arrives)) return;
    stamp_end(task, own(stream)->now_ns);
  });
}

const char* why_no_products() { return cluster->has_products ? "" : "no cuBLASLt here"; }

int make_product(GpuProduct* product, const GpuProductShape& shape) {
  *product = reinterpret_cast<GpuProduct>(new GpuProductShape(shape));
  return 0;
}

int free_product(GpuProduct product) {
  delete reinterpret_cast<GpuProductShape*>(product);
  return 0;
}

int launch_product(GpuStream stream, GpuProduct product, const GpuProductMemory& memory) {
  const GpuProductShape shape = *reinterpret_cast<GpuProductShape*>(product);
  return enqueue(stream, [=] {
    pass_time(own(stream), multiply_ns(shape, memory, cluster->most_work, fake_sms));
  });
}

int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t) {
  return enqueue(stream, [=] {
    if (is_small(step, cluster->most_work)) run_on_host(step);
    pass_time(own(stream), step_ns(step, fake_sms));
  });
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
  return enqueue(stream, [=] {
    const std::uint64_t ns = action_ns(kernel, kernel.task.task, fake_sms);
    const ptx::ActionLimit limit{ns, cluster->most_work};
    if (run_compiled(own(stream), ptx::run_action, kernel, limit)) return;
    run_kernel(own(stream), kernel.task, ns);
  });
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  return enqueue(stream, [=] {
    if (run_compiled(own(stream), ptx::run_copy, kernel)) return;
    run_kernel(own(stream), kernel.task, kernel.task.records[kernel.task.task].duration_ns);
    std::memcpy(kernel.to, kernel.from, std::min(kernel.bytes, kernel.buffer_bytes));
  });
}

int launch_nothing(GpuStream) { return 0; }

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  constexpr std::int64_t takes_ns = 1'000;  // each way
  constexpr std::int64_t step_ns = 32;
  process.reads_clock = true;
  return enqueue(stream, [=] {
    own(stream)->now_ns = std::max(own(stream)->now_ns, process.host_ns.load()) + takes_ns;
    if (!run_compiled(own(stream), ptx::run_clock_reader, readings, count)) {
      for (std::uint32_t at = 0; at < count; ++at) {
        readings[at] = static_cast<std::uint64_t>(gpu_ns(own(stream)->now_ns + at * step_ns));
      }
    }
    own(stream)->now_ns += takes_ns;
  });
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
  all.make_timer = make_event;
  all.elapsed = elapsed;
  all.allocate = allocate;
  all.free_memory = free_memory;
  all.fill = fill;
  all.write = write;
  all.read = write;
  all.copy_within = copy_within;
  all.launch_action = launch_action;
  all.launch_copy = launch_copy;
  all.launch_begin = launch_begin;
  all.launch_end = launch_end;
  all.why_no_products = why_no_products;
  all.make_product = make_product;
  all.free_product = free_product;
  all.launch_product = launch_product;
  all.launch_step = launch_step;
  all.product_library = [] { return 130'100U; };
  all.product_algorithm = [](GpuProduct) { return std::uint64_t{7}; };
  all.launch_nothing = launch_nothing;
  all.launch_clock_reader = launch_clock_reader;
  return all;
}

}  // namespace

const GpuCalls* gpu_calls() {
  static const GpuCalls calls = made_gpu_calls();
  return &calls;
}

}  // namespace penstock::testing::fakes
