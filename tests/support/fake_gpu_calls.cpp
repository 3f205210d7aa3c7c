// The calls of the fake GPU but for kernels: streams, events, graphs, memory and groups of SMs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "tests/support/fake_gpu_parts.hpp"
#include "tests/support/fake_memory.hpp"

namespace penstock::testing {
namespace one_fake_gpu {

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

namespace {

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

int elapsed(float* ms, GpuEvent begin, GpuEvent end) {
  *ms = static_cast<float>(static_cast<double>(end->ns - begin->ns) / 1e6);
  return 0;
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
  *memory = std::calloc(1, bytes);
  gpu->handed_out.insert(*memory);
  return 0;
}

int free_memory(void* memory) {
  if (gpu->handed_out.erase(memory) == 0) return illegal_address;
  std::free(memory);
  return 0;
}

int fill(void* memory, int byte, std::size_t bytes, GpuStream stream) {
  return enqueue(stream, [=] {
    constexpr std::uint64_t takes_ns = 1000;
    fill_memory(memory, byte, bytes);
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

/// Groups of a split lie one after the other.
int make_context(GpuContext* context, const SmGroup* groups, std::uint32_t count) {
  if (gpu->context_error != 0) return gpu->context_error;
  FakeGpu::Range all = range_of(groups[0]);
  for (std::uint32_t i = 1; i < count; ++i) {
    const FakeGpu::Range next = range_of(groups[i]);
    if (next.first_sm != all.first_sm + all.sms) return invalid_handle;
    all.sms += next.sms;
  }
  return hand_out(context, new GpuContextTag{all});
}

int make_stream_on(GpuStream* stream, GpuContext context) {
  return hand_out(stream, new GpuStreamTag{.range = context->range, .context = context});
}

int make_event_on(GpuEvent* event, GpuContext context) {
  return hand_out(event, new GpuEventTag{.context = context});
}

}  // namespace
}  // namespace one_fake_gpu

FakeGpu::FakeGpu() { one_fake_gpu::gpu = this; }
FakeGpu::~FakeGpu() { one_fake_gpu::gpu = nullptr; }

GpuCalls FakeGpu::calls() const {
  using namespace one_fake_gpu;
  GpuCalls all{};
  all.error_name = error_name;
  all.count_devices = count_devices;
  all.start = [] { return 0; };
  all.facts = facts;
  all.make_stream = make_stream;
  all.free_stream = give_back;
  all.synchronize = synchronize;
  all.make_event = make_event;
  all.free_event = give_back;
  all.record = record;
  all.wait = wait;
  all.make_timer = make_event;
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
  all.allocate_pinned = allocate;
  all.free_pinned = free_memory;
  add_kernels(all);
  if (kernels != nullptr) add_compiled_kernels(all);
  if (!has_green_contexts) return all;
  all.all_sms = all_sms;
  all.split_sms = split_sms;
  all.make_context = make_context;
  all.free_context = give_back;
  all.make_stream_on = make_stream_on;
  all.make_event_on = make_event_on;
  return all;
}

}  // namespace penstock::testing
