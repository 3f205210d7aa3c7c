#include "tests/support/fake_gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hardware_models/codecs/coding/bf16.hpp"
#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/arithmetic/content.hpp"

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

struct GpuProductTag {
  GpuProductShape shape;
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

/// Notes that a kernel of this stream reads or writes a tensor from `begin_ns` until its end.
void use_tensor(GpuStream stream, const void* tensor, std::uint64_t begin_ns, bool writes) {
  const bool unwritten = gpu->filled_ns[tensor] > begin_ns;
  const bool still_read = writes && gpu->read_ns[tensor] > begin_ns;
  if (unwritten || still_read) ++gpu->hazards;
  auto& ends = writes ? gpu->filled_ns : gpu->read_ns;
  ends[tensor] = std::max(ends[tensor], stream->now_ns);
}

/// The task of this launch; the queue of a graph moves on.
std::uint32_t next_task(const GpuKernelTask& task) {
  return task.queue == nullptr ? task.task : task.queue[task.progress[0]++];
}

/// When a task begins: once what it reads has arrived.
std::uint64_t begin_of(GpuStream stream, const GpuKernelTask& task, std::uint32_t own) {
  std::uint64_t begin = stream->now_ns;
  const GpuTaskRecord& record = task.records[own];
  for (std::uint32_t i = 0; i < record.input_count; ++i) {
    const std::uint64_t* const end = &task.end_ns[task.inputs[record.first_input + i]];
    if (!gpu->written_ns.contains(end)) continue;  // a run without stamps
    if (gpu->written_ns[end] <= stream->now_ns) {
      begin = std::max(begin, *end);
    } else {
      ++gpu->early_reads;
    }
  }
  return begin;
}

void stamp_begin(const GpuKernelTask& task, std::uint32_t own, std::uint64_t begin) {
  if (!task.stamped || begin < gpu->cleared_ns) return;  // or its output was cleared
  task.begin_ns[own] = std::min(task.begin_ns[own], begin);
  gpu->written_ns[&task.begin_ns[own]] = begin;
}

void stamp_end(GpuStream stream, const GpuKernelTask& task, std::uint32_t own, std::uint64_t begin,
               std::uint64_t latency_ns) {
  if (begin < gpu->cleared_ns) return;
  task.end_ns[own] = std::max(task.end_ns[own], stream->now_ns + latency_ns);
  gpu->written_ns[&task.end_ns[own]] = stream->now_ns;
}

int count_launch() {
  return gpu->launches++ == static_cast<std::uint64_t>(gpu->failing_launch) ? launch_failure : 0;
}

/// The speed of an SM: a multiply-add of each thread, or a word of memory, per nanosecond.
std::uint64_t action_ns(const GpuActionKernel& kernel, std::uint32_t task, std::uint64_t sms) {
  if (kernel.work == GpuWork::flops) return kernel.amount;
  if (kernel.work == GpuWork::bytes) return kernel.amount / sms;
  return kernel.task.records[task].duration_ns;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  if (const int error = count_launch()) return error;
  return enqueue(stream, [=] {
    const std::uint64_t first = gpu->keeps_partition ? stream->range.first_sm : 0;
    for (std::uint32_t block = 0; block < kernel.blocks; ++block) {
      kernel.sms_seen[first + block % stream->range.sms] = 1;
    }
    const std::uint32_t task = next_task(kernel.task);
    const std::uint64_t begin = begin_of(stream, kernel.task, task);
    stamp_begin(kernel.task, task, begin);
    stream->now_ns = begin + action_ns(kernel, task, stream->range.sms) +
                     (kernel.task.stamped ? gpu->stamp_ns : 0);
    if (kernel.task.stamped) stamp_end(stream, kernel.task, task, begin, 0);
    return 0;
  });
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  if (const int error = count_launch()) return error;
  return enqueue(stream, [=] {
    const std::uint32_t task = kernel.task.task;
    const GpuTaskRecord& record = kernel.task.records[task];
    const std::uint64_t begin = begin_of(stream, kernel.task, task);
    stamp_begin(kernel.task, task, begin);
    stream->now_ns = begin + std::max(record.duration_ns, gpu->copy_ns_least);
    use_tensor(stream, kernel.from, begin, false);
    use_tensor(stream, kernel.to, begin, true);
    if (gpu->copies++ != static_cast<std::uint64_t>(gpu->lost_copy)) {
      std::memcpy(kernel.to, kernel.from, std::min(kernel.bytes, kernel.buffer_bytes));
    }
    stamp_end(stream, kernel.task, task, begin, record.latency_ns);
    return 0;
  });
}

/// Remembers the task until its end.
int launch_begin(GpuStream stream, const GpuKernelTask& task) {
  return enqueue(stream, [=] {
    const std::uint32_t own = task.queue == nullptr ? task.task : task.queue[task.progress[0]];
    stream->now_ns = begin_of(stream, task, own);
    stamp_begin(task, own, stream->now_ns);
    if (task.stamped) stream->now_ns += gpu->stamp_ns;
    return 0;
  });
}

int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives) {
  return enqueue(stream, [=] {
    const std::uint32_t own = next_task(task);
    const std::uint64_t latency_ns = task.records[own].latency_ns;
    if (arrives || task.stamped) stamp_end(stream, task, own, stream->now_ns, latency_ns);
    return 0;
  });
}

int make_product(GpuProduct* product, const GpuProductShape& shape) {
  return hand_out(product, new GpuProductTag{shape});
}

/// Small ones in full; a multiply-add of each SM takes a nanosecond for 8192.
int launch_product(GpuStream stream, GpuProduct product, const GpuProductMemory& memory) {
  const GpuProductShape shape = product->shape;
  return enqueue(stream, [=] {
    const std::uint64_t work = std::uint64_t{shape.rows} * shape.columns * shape.inner;
    constexpr std::uint64_t most = 1 << 20;
    const auto* const a = static_cast<const std::uint16_t*>(memory.a);
    const auto* const b = static_cast<const std::uint16_t*>(memory.b);
    auto* const c = static_cast<std::uint16_t*>(memory.c);
    for (std::uint64_t at = 0; work <= most && at < std::uint64_t{shape.rows} * shape.columns;
         ++at) {
      float sum = 0;
      for (std::uint64_t k = 0; k < shape.inner; ++k) {
        sum += from_bf16(a[at % shape.rows + k * shape.rows]) *
               from_bf16(b[k + at / shape.rows * shape.inner]);
      }
      c[at] = to_bf16(sum);
    }
    stream->now_ns += work / (8192 * stream->range.sms) + 1;
    return 0;
  });
}

/// By a copy engine.
int move(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  return enqueue(stream, [=] {
    const std::uint64_t begin = stream->now_ns;
    stream->now_ns += gpu->engine_ns;
    use_tensor(stream, from, begin, false);
    use_tensor(stream, to, begin, true);
    if (gpu->copies++ != static_cast<std::uint64_t>(gpu->lost_copy)) std::memcpy(to, from, bytes);
    return 0;
  });
}

int launch_content(GpuStream stream, const GpuContentKernel& kernel) {
  constexpr std::uint64_t takes_ns = 100;
  return enqueue(stream, [=] {
    const std::uint64_t begin = stream->now_ns;
    stream->now_ns += takes_ns;
    use_tensor(stream, kernel.memory, begin, kernel.wrong == nullptr);
    auto* const numbers = static_cast<std::uint32_t*>(kernel.memory);
    for (std::uint64_t at = 0; at < 4 * kernel.words; ++at) {
      const std::uint32_t expected =
          content_at(kernel.transfer, at / 4) + static_cast<std::uint32_t>(at % 4);
      if (kernel.wrong == nullptr) {
        numbers[at] = expected;
      } else if (numbers[at] != expected) {
        ++*kernel.wrong;
      }
    }
    return 0;
  });
}

int launch_codec(GpuStream stream, const GpuCodecKernel& kernel) {
  return enqueue(stream, [=] {
    for (std::uint64_t block = 0; block < kernel.blocks; ++block) {
      std::uint16_t* const values = kernel.values + block * block_values;
      std::uint8_t* const packed = kernel.packed + block * packed_bytes(kernel.bits);
      if (kernel.decodes) {
        unpack_block(packed, kernel.bits, values);
      } else {
        pack_block(values, kernel.bits, packed);
      }
    }
    stream->now_ns += kernel.blocks;
    return 0;
  });
}

int launch_cycle_counter(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds) {
  return enqueue(stream, [=] {
    numbers[0] = 4 * std::uint64_t{rounds};
    numbers[1] = 2 * std::uint64_t{rounds};
    stream->now_ns += numbers[1];
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
               .make_timer = make_event,
               .elapsed = elapsed,
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
               .allocate_pinned = allocate,
               .free_pinned = free_memory,
               .copy_out = move,
               .copy_in = move,
               .copy_within = move,
               .launch_action = launch_action,
               .launch_copy = launch_copy,
               .launch_begin = launch_begin,
               .launch_end = launch_end,
               .launch_content = launch_content,
               .launch_codec = launch_codec,
               .launch_nothing = launch_nothing,
               .launch_clock_reader = launch_clock_reader,
               .launch_cycle_counter = launch_cycle_counter,
               .why_no_products = [] { return ""; },
               .make_product = make_product,
               .free_product = give_back,
               .launch_product = launch_product,
               .product_library = [] { return 130'100U; },
               .product_algorithm = [](GpuProduct) { return std::uint64_t{7}; },
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
