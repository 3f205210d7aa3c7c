#include "tests/support/fake_gpu.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace penstock {

struct GpuContextTag {
  testing::FakeGpu::Range range;
};

struct GpuStreamTag {
  testing::FakeGpu::Range range;
  GpuContext context = nullptr;
  std::uint64_t now_ns = 0;  // when its queued work ends
  bool unjoined = false;     // has captured work that the origin stream does not wait for
};

struct GpuEventTag {
  GpuContext context = nullptr;
  std::uint64_t ns = 0;
  GpuStream stream = nullptr;
  bool captured = false;
};

struct GpuGraphTag {
  std::vector<std::function<int()>> work;
  std::set<GpuStream> streams;
};

struct GpuExecutableTag {
  GpuGraphTag graph;
};

namespace testing {
namespace {

// CUDA error numbers.
constexpr int out_of_memory = 2;
constexpr int invalid_handle = 400;
constexpr int launch_failure = 719;
constexpr int capture_unsupported = 900;
constexpr int capture_unjoined = 904;
constexpr int capture_isolation = 905;
constexpr int illegal_address = 700;

FakeGpu* gpu = nullptr;

const char* error_name(int error) {
  static const std::map<int, const char*> names = {{out_of_memory, "cudaErrorMemoryAllocation"},
                                                   {35, "cudaErrorInsufficientDriver"},
                                                   {100, "cudaErrorNoDevice"},
                                                   {400, "cudaErrorInvalidResourceHandle"},
                                                   {719, "cudaErrorLaunchFailure"},
                                                   {801, "cudaErrorNotSupported"},
                                                   {999, "cudaErrorUnknown"}};
  const auto found = names.find(error);
  return found == names.end() ? "cudaError" : found->second;
}

int count_devices(int* count) {
  *count = gpu->devices;
  return gpu->devices_error;
}

int facts(GpuFacts* all) {
  std::strcpy(all->name.data(), "fake GPU");
  *all = {all->name, 9, 0, gpu->sms, 2048, gpu->queues, 13000, 12060};
  return 0;
}

template <class Tag>
int hand_out(Tag** place, Tag* made) {
  gpu->handed_out.insert(made);
  *place = made;
  return 0;
}

template <class Tag>
int give_back(Tag* tag) {
  if (gpu->handed_out.erase(tag) == 0) return illegal_address;
  delete tag;
  return 0;
}

/// Runs work of a stream, or adds it to the captured graph.
int enqueue(GpuStream stream, std::function<int()> work) {
  if (gpu->origin == nullptr) {
    stream->now_ns = std::max(stream->now_ns, gpu->host_ns);
    return work();
  }
  if (!gpu->joined.contains(stream)) return capture_unsupported;
  if (stream->context != nullptr && gpu->capture_error != 0) return gpu->capture_error;
  stream->unjoined = stream != gpu->origin;
  gpu->captured.push_back(std::move(work));
  return 0;
}

int make_stream(GpuStream* stream) {
  return hand_out(stream, new GpuStreamTag{.range = {0, gpu->sms}});
}

int synchronize(GpuStream stream) {
  if (gpu->origin != nullptr) return capture_unsupported;
  gpu->host_ns = std::max(gpu->host_ns, stream->now_ns);
  return 0;
}

int make_event(GpuEvent* event) { return hand_out(event, new GpuEventTag); }

int record(GpuEvent event, GpuStream stream) {
  if (event->context != stream->context) return invalid_handle;
  if (stream->context != nullptr && gpu->record_error != 0) return gpu->record_error;
  event->stream = stream;
  event->captured = gpu->origin != nullptr;
  return enqueue(stream, [=] {
    event->ns = stream->now_ns;
    return 0;
  });
}

int wait(GpuStream stream, GpuEvent event) {
  if (stream->context != nullptr && gpu->wait_error != 0) return gpu->wait_error;
  if (gpu->origin != nullptr) {
    if (!event->captured) return capture_isolation;
    gpu->joined.insert(stream);
    if (stream == gpu->origin) event->stream->unjoined = false;
  }
  return enqueue(stream, [=] {
    stream->now_ns = std::max(stream->now_ns, event->ns);
    return 0;
  });
}

int begin_capture(GpuStream stream) {
  if (gpu->origin != nullptr) return capture_unsupported;
  gpu->origin = stream;
  gpu->joined = {stream};
  return 0;
}

int end_capture(GpuStream stream, GpuGraph* graph) {
  if (gpu->origin != stream) return capture_unsupported;
  gpu->origin = nullptr;
  auto work = std::exchange(gpu->captured, {});
  for (const GpuStream other : gpu->joined) {
    if (other->unjoined) return capture_unjoined;
  }
  return hand_out(graph, new GpuGraphTag{std::move(work), gpu->joined});
}

int instantiate(GpuExecutable* executable, GpuGraph graph) {
  return hand_out(executable, new GpuExecutableTag{*graph});
}

int launch_graph(GpuExecutable executable, GpuStream stream) {
  ++gpu->graph_launches;
  const std::uint64_t begin = std::max(stream->now_ns, gpu->host_ns);
  for (const GpuStream part : executable->graph.streams) part->now_ns = begin;
  for (const auto& work : executable->graph.work) {
    if (const int error = work()) return error;
  }
  return 0;
}

int allocate(void** memory, std::size_t bytes) {
  if (bytes > gpu->memory_bytes) return out_of_memory;
  *memory = ::operator new(bytes);
  gpu->handed_out.insert(*memory);
  return 0;
}

int free_memory(void* memory) {
  if (gpu->handed_out.erase(memory) == 0) return illegal_address;
  ::operator delete(memory);
  return 0;
}

int fill(void* memory, int byte, std::size_t bytes, GpuStream stream) {
  return enqueue(stream, [=] {
    constexpr std::uint64_t takes_ns = 1000;
    std::memset(memory, byte, bytes);
    stream->now_ns += takes_ns;
    gpu->cleared_ns = stream->now_ns;
    return 0;
  });
}

int write(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}

/// Fails to read what kernels have not yet written.
int read(void* to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const char*>(from);
  for (auto at = gpu->written_ns.lower_bound(from); at != gpu->written_ns.end(); ++at) {
    if (static_cast<const char*>(at->first) >= begin + bytes) break;
    if (at->second > gpu->host_ns) return illegal_address;
  }
  std::memcpy(to, from, bytes);
  return 0;
}

/// Runs a kernel: writes its stamps, and records when it ends.
void run_kernel(GpuStream stream, const GpuKernelTask& task, std::uint64_t takes_ns,
                std::uint64_t latency_ns) {
  std::uint64_t begin = stream->now_ns;
  for (std::uint32_t i = 0; i < task.input_count; ++i) {
    const std::uint64_t* const end = &task.end_ns[task.inputs[i]];
    if (gpu->written_ns[end] <= stream->now_ns) begin = std::max(begin, *end);
  }
  stream->now_ns = begin + takes_ns;
  if (begin < gpu->cleared_ns) return;  // its output was cleared
  task.begin_ns[task.task] = std::min(task.begin_ns[task.task], begin);
  task.end_ns[task.task] = std::max(task.end_ns[task.task], stream->now_ns + latency_ns);
  gpu->written_ns[&task.begin_ns[task.task]] = begin;
  gpu->written_ns[&task.end_ns[task.task]] = stream->now_ns;
}

int count_launch() {
  return gpu->launches++ == static_cast<std::uint64_t>(gpu->failing_launch) ? launch_failure : 0;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  if (const int error = count_launch()) return error;
  return enqueue(stream, [=] {
    const std::uint64_t first = gpu->keeps_partition ? stream->range.first_sm : 0;
    for (std::uint32_t block = 0; block < kernel.blocks; ++block) {
      kernel.sms_seen[first + block % stream->range.sms] = 1;
    }
    run_kernel(stream, kernel.task, kernel.task.duration_ns, 0);
    return 0;
  });
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  if (const int error = count_launch()) return error;
  return enqueue(stream, [=] {
    run_kernel(stream, kernel.task, std::max(kernel.task.duration_ns, gpu->copy_ns_least),
               kernel.latency_ns);
    return 0;
  });
}

int launch_nothing(GpuStream stream) {
  return enqueue(stream, [] { return 0; });
}

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  constexpr std::uint64_t step_ns = 32;
  return enqueue(stream, [=] {
    for (std::uint32_t i = 0; i < count; ++i) readings[i] = i * step_ns;
    return 0;
  });
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
  *count = std::min({*count, gpu->most_groups, all.sms / sms});
  for (std::uint32_t i = 0; i < *count; ++i) groups[i] = group_of({std::uint64_t{i} * sms, sms});
  const std::uint64_t used = std::uint64_t{*count} * sms;
  *left = group_of({used, all.sms - used});
  return 0;
}

int make_context(GpuContext* context, SmGroup group) {
  if (gpu->context_error != 0) return gpu->context_error;
  return hand_out(context, new GpuContextTag{range_of(group)});
}

int make_stream_on(GpuStream* stream, GpuContext context) {
  return hand_out(stream, new GpuStreamTag{.range = context->range, .context = context});
}

int make_event_on(GpuEvent* event, GpuContext context) {
  return hand_out(event, new GpuEventTag{.context = context});
}

}  // namespace

FakeGpu::FakeGpu() { gpu = this; }
FakeGpu::~FakeGpu() { gpu = nullptr; }

GpuCalls FakeGpu::calls() const {
  const auto done = [](auto...) { return 0; };
  GpuCalls all{.error_name = error_name,
               .count_devices = count_devices,
               .start = [] { return 0; },
               .facts = facts,
               .make_stream = make_stream,
               .free_stream = give_back,
               .synchronize = synchronize,
               .make_event = make_event,
               .free_event = give_back,
               .record = record,
               .wait = wait,
               .begin_capture = begin_capture,
               .end_capture = end_capture,
               .free_graph = give_back,
               .instantiate = instantiate,
               .free_executable = give_back,
               .upload = done,
               .launch_graph = launch_graph,
               .allocate = allocate,
               .free_memory = free_memory,
               .fill = fill,
               .write = write,
               .read = read,
               .launch_action = launch_action,
               .launch_copy = launch_copy,
               .launch_nothing = launch_nothing,
               .launch_clock_reader = launch_clock_reader,
               .all_sms = nullptr,
               .split_sms = nullptr,
               .make_context = nullptr,
               .free_context = nullptr,
               .make_stream_on = nullptr,
               .make_event_on = nullptr};
  if (!has_green_contexts) return all;
  all.all_sms = all_sms;
  all.split_sms = split_sms;
  all.make_context = make_context;
  all.free_context = give_back;
  all.make_stream_on = make_stream_on;
  all.make_event_on = make_event_on;
  return all;
}

}  // namespace testing
}  // namespace penstock
