// The calls of the fake GPU but for kernels: streams, events, graphs, memory and groups of SMs.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "tests/support/fake_gpu_parts.hpp"
#include "tests/support/fake_work.hpp"

namespace penstock::testing {
namespace one_fake_gpu {

int refused_now() {
  if (gpu->fault != 0) return gpu->fault;
  if (gpu->origin == nullptr) return 0;
  gpu->is_spoiled = true;
  return capture_unsupported;
}

int enqueue(GpuStream stream, std::function<void()> work) {
  if (gpu->fault != 0) return gpu->fault;
  // Work of a hardware queue runs in the order of its issue, whatever its streams.
  auto in_queue = [stream, work = std::move(work)] {
    std::uint64_t& queue_ns = gpu->queue_ns[stream->queue];
    stream->now_ns = std::max(stream->now_ns, queue_ns);
    work();
    queue_ns = stream->now_ns;
  };
  if (gpu->origin == nullptr) {
    gpu->host_ns += gpu->issue_ns;
    stream->now_ns = std::max(stream->now_ns, gpu->host_ns);
    in_queue();
    return 0;
  }
  if (!gpu->joined.contains(stream)) return capture_unsupported;
  if (stream->context != nullptr && gpu->capture_error != 0) return gpu->capture_error;
  stream->unjoined = stream != gpu->origin;
  gpu->captured.emplace_back(std::move(in_queue));
  return 0;
}

int launch(GpuStream stream, std::uint32_t blocks, std::uint32_t threads,
           std::function<void()> work) {
  constexpr std::uint32_t most_threads = 1024;  // of a block
  if (blocks == 0 || threads == 0 || threads > most_threads) return invalid_configuration;
  const std::uint64_t number = gpu->launches++;
  if (number == static_cast<std::uint64_t>(gpu->failing_launch)) return launch_failure;
  return enqueue(stream, [=, work = std::move(work)] {
    if (number == static_cast<std::uint64_t>(gpu->failing_kernel)) gpu->fault = launch_failure;
    gpu->hangs |= number == static_cast<std::uint64_t>(gpu->hung_kernel);
    if (gpu->fault == 0 && !gpu->hangs) work();
  });
}

bool is_allocated(const void* memory, std::size_t bytes) {
  auto next = gpu->allocated.upper_bound(memory);
  if (next == gpu->allocated.begin()) return false;
  const auto [begin, size] = *--next;
  const auto before =
      static_cast<std::size_t>(static_cast<const char*>(memory) - static_cast<const char*>(begin));
  return before <= size && bytes <= size - before;
}

namespace {

const char* error_name(int error) {
  static const std::map<int, const char*> names = {
      {out_of_memory, "cudaErrorMemoryAllocation"},
      {invalid_configuration, "cudaErrorInvalidConfiguration"},
      {35, "cudaErrorInsufficientDriver"},
      {100, "cudaErrorNoDevice"},
      {400, "cudaErrorInvalidResourceHandle"},
      {719, "cudaErrorLaunchFailure"},
      {801, "cudaErrorNotSupported"},
      {900, "cudaErrorStreamCaptureUnsupported"},
      {901, "cudaErrorStreamCaptureInvalidated"},
      {no_algorithm, "CUBLAS_STATUS_NOT_SUPPORTED"},
      {999, "cudaErrorUnknown"}};
  const auto found = names.find(error);
  return found == names.end() ? "cudaError" : found->second;
}

int count_devices(int* count) {
  *count = gpu->devices;
  return gpu->devices_error;
}

int cuda_versions(int* driver, int* runtime) {
  *driver = gpu->driver;
  *runtime = gpu->runtime;
  return 0;
}

int facts(GpuFacts* all) {
  std::strcpy(all->name.data(), "fake GPU");
  *all = {all->name, 9, 0, gpu->sms, 2048, gpu->queues, 0, 0, gpu->memory_bytes - gpu->used_bytes};
  return cuda_versions(&all->driver, &all->runtime);
}

/// The one with the fewest streams.
std::uint32_t take_queue() {
  if (gpu->queue_users.size() != gpu->queues) {
    gpu->queue_users.assign(gpu->queues, 0);
    gpu->queue_ns.assign(gpu->queues, 0);
    gpu->queue_users.front() = gpu->default_streams_have_queues ? 1 : 0;
  }
  const auto free = std::min_element(gpu->queue_users.begin(), gpu->queue_users.end());
  ++*free;
  return static_cast<std::uint32_t>(free - gpu->queue_users.begin());
}

int make_stream(GpuStream* stream) {
  return hand_out(stream, new GpuStreamTag{.range = {0, gpu->sms}, .queue = take_queue()});
}

int free_stream(GpuStream stream) {
  --gpu->queue_users[stream->queue];
  return give_back(stream);
}

int synchronize(GpuStream stream) {
  if (const int error = refused_now()) return error;
  while (gpu->hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  gpu->host_ns = std::max(gpu->host_ns, stream->now_ns);
  return 0;
}

int make_event(GpuEvent* event) { return hand_out(event, new GpuEventTag); }

int make_timer(GpuEvent* event) { return hand_out(event, new GpuEventTag{.is_timer = true}); }

int record(GpuEvent event, GpuStream stream) {
  if (event->context != stream->context) return invalid_handle;
  if (stream->context != nullptr && gpu->record_error != 0) return gpu->record_error;
  event->stream = stream;
  event->captured = gpu->origin != nullptr;
  return enqueue(stream, [=] { event->ns = stream->now_ns; });
}

int wait(GpuStream stream, GpuEvent event) {
  if (stream->context != nullptr && gpu->wait_error != 0) return gpu->wait_error;
  if (gpu->origin != nullptr) {
    if (!event->captured) return capture_isolation;
    gpu->joined.insert(stream);
    if (stream == gpu->origin) event->stream->unjoined = false;
  } else if (event->captured) {
    return captured_event;
  }
  return enqueue(stream, [=] { stream->now_ns = std::max(stream->now_ns, event->ns); });
}

int elapsed(float* ms, GpuEvent begin, GpuEvent end) {
  if (gpu->fault != 0) return gpu->fault;
  for (const GpuEvent event : {begin, end}) {
    if (event->captured) return captured_event;
    if (!event->is_timer || event->stream == nullptr) return invalid_handle;
    if (event->ns > gpu->host_ns) return not_ready;
  }
  *ms = static_cast<float>(static_cast<double>(end->ns - begin->ns) / 1e6);
  return 0;
}

int begin_capture(GpuStream stream) {
  if (gpu->origin != nullptr) return capture_unsupported;
  gpu->origin = stream;
  gpu->is_spoiled = false;
  gpu->joined = {stream};
  return 0;
}

int end_capture(GpuStream stream, GpuGraph* graph) {
  if (gpu->origin != stream) return capture_unsupported;
  gpu->origin = nullptr;
  auto work = std::exchange(gpu->captured, {});
  if (gpu->is_spoiled) return capture_invalidated;
  for (const GpuStream other : gpu->joined) {
    if (other->unjoined) return capture_unjoined;
  }
  return hand_out(graph, new GpuGraphTag{std::move(work), gpu->joined});
}

int instantiate(GpuExecutable* executable, GpuGraph graph) {
  return hand_out(executable, new GpuExecutableTag{*graph});
}

int launch_graph(GpuExecutable executable, GpuStream stream) {
  if (gpu->fault != 0) return gpu->fault;
  ++gpu->graph_launches;
  const std::uint64_t begin = std::max(stream->now_ns, gpu->host_ns);
  for (const GpuStream part : executable->graph.streams) part->now_ns = begin;
  for (const auto& work : executable->graph.work) work();
  return 0;
}

int keep(void** memory, std::size_t bytes) {
  *memory = std::calloc(1, bytes);
  gpu->handed_out.insert(*memory);
  gpu->allocated[*memory] = bytes;
  return 0;
}

int allocate(void** memory, std::size_t bytes) {
  if (const int error = refused_now()) return error;
  if (bytes > gpu->memory_bytes - gpu->used_bytes) return out_of_memory;
  gpu->used_bytes += bytes;
  return keep(memory, bytes);
}

/// Memory of the host.
int allocate_pinned(void** memory, std::size_t bytes) {
  if (const int error = refused_now()) return error;
  return keep(memory, bytes);
}

int free_pinned(void* memory) {
  const int error = refused_now();
  if (gpu->handed_out.erase(memory) == 0) return invalid_value;
  gpu->allocated.erase(memory);
  std::free(memory);
  return error;
}

int free_memory(void* memory) {
  const auto found = gpu->allocated.find(memory);
  if (found == gpu->allocated.end()) return invalid_value;
  gpu->used_bytes -= found->second;
  return free_pinned(memory);
}

int fill(void* memory, int byte, std::size_t bytes, GpuStream stream) {
  if (!is_allocated(memory, bytes)) return invalid_value;
  return enqueue(stream, [=] {
    constexpr std::uint64_t takes_ns = 1000;
    fill_memory(memory, byte, bytes);
    stream->now_ns += takes_ns;
    gpu->cleared_ns = stream->now_ns;
  });
}

int write(void* to, const void* from, std::size_t bytes) {
  if (const int error = refused_now()) return error;
  if (!is_allocated(to, bytes)) return invalid_value;
  std::memcpy(to, from, bytes);
  return 0;
}

/// Fails to read what kernels have not yet written.
int read(void* to, const void* from, std::size_t bytes) {
  if (const int error = refused_now()) return error;
  if (!is_allocated(from, bytes)) return invalid_value;
  const auto* const begin = static_cast<const char*>(from);
  for (auto at = gpu->written_ns.lower_bound(from); at != gpu->written_ns.end(); ++at) {
    if (static_cast<const char*>(at->first) >= begin + bytes) break;
    if (at->second > gpu->host_ns) return illegal_address;
  }
  std::memcpy(to, from, bytes);
  return 0;
}

SmGroup group_of(const FakeGpu::Range& range) {
  SmGroup group{static_cast<std::uint32_t>(range.sms), gpu->least_sms, gpu->least_sms};
  std::memcpy(group.of_driver.data(), &range, sizeof range);
  return group;
}

FakeGpu::Range range_of(const SmGroup& group) {
  FakeGpu::Range range;
  std::memcpy(&range, group.of_driver.data(), sizeof range);
  return range;
}

int all_sms(SmGroup* all) {
  *all = group_of({0, gpu->sms});
  return 0;
}

int split_sms(SmGroup* groups, std::uint32_t* count, const SmGroup& all, SmGroup* left,
              std::uint32_t sms) {
  if (gpu->split_error != 0) return gpu->split_error;
  // Groups smaller than asked for there are not: sizes are rounded up
  // (cuDevSmResourceSplitByCount).
  sms = (std::max(sms, gpu->least_sms) + gpu->least_sms - 1) / gpu->least_sms * gpu->least_sms;
  *count = std::min({*count, gpu->most_groups, all.sms / sms});
  for (std::uint32_t i = 0; i < *count; ++i) groups[i] = group_of({std::uint64_t{i} * sms, sms});
  const std::uint64_t used = std::uint64_t{*count} * sms;
  *left = group_of({used, all.sms - used});
  return 0;
}

/// Groups of a split lie one after the other.
int make_context(GpuContext* context, const SmGroup* groups, std::uint32_t count) {
  if (gpu->context_error != 0) return gpu->context_error;
  FakeGpu::Range all = range_of(groups[0]);
  for (std::uint32_t i = 1; i < count; ++i) {
    const FakeGpu::Range next = range_of(groups[i]);
    if (next.first_sm != all.first_sm + all.sms) return invalid_handle;
    all.sms += next.sms;
  }
  if (gpu->refuses_remainder && all.sms < gpu->least_sms) return invalid_resource;
  return hand_out(
      context, new GpuContextTag{all, gpu->default_streams_have_queues ? take_queue() : no_queue});
}

int free_context(GpuContext context) {
  if (context->queue != no_queue) --gpu->queue_users[context->queue];
  return give_back(context);
}

int make_stream_on(GpuStream* stream, GpuContext context) {
  return hand_out(
      stream, new GpuStreamTag{.range = context->range, .context = context, .queue = take_queue()});
}

int make_event_on(GpuEvent* event, GpuContext context) {
  return hand_out(event, new GpuEventTag{.context = context});
}

}  // namespace
}  // namespace one_fake_gpu

FakeGpu::FakeGpu() { one_fake_gpu::gpu = this; }
FakeGpu::~FakeGpu() { one_fake_gpu::gpu = nullptr; }

const GpuCalls& FakeGpu::calls() const {
  using namespace one_fake_gpu;
  GpuCalls& all = table;
  all = {};
  all.error_name = error_name;
  all.count_devices = count_devices;
  all.cuda_versions = cuda_versions;
  all.start = [] { return 0; };
  all.facts = facts;
  all.make_stream = make_stream;
  all.free_stream = free_stream;
  all.synchronize = synchronize;
  all.make_event = make_event;
  all.free_event = give_back;
  all.record = record;
  all.wait = wait;
  all.make_timer = make_timer;
  all.elapsed = elapsed;
  all.begin_capture = begin_capture;
  all.end_capture = end_capture;
  all.free_graph = give_back;
  all.instantiate = instantiate;
  all.free_executable = give_back;
  all.upload = [](auto...) { return 0; };
  all.launch_graph = launch_graph;
  all.allocate = allocate;
  all.free_memory = free_memory;
  all.fill = fill;
  all.write = write;
  all.read = read;
  all.allocate_pinned = allocate_pinned;
  all.free_pinned = free_pinned;
  add_kernels(all);
  if (!has_green_contexts) return all;
  all.all_sms = all_sms;
  all.split_sms = split_sms;
  all.make_context = make_context;
  all.free_context = free_context;
  all.make_stream_on = make_stream_on;
  all.make_event_on = make_event_on;
  return all;
}

}  // namespace penstock::testing
