// The kernels and copies of the fake GPU.
#include <algorithm>
#include <cstring>

#include "hardware_models/codecs/coding/bits.hpp"
#include "tests/support/fake_gpu_parts.hpp"
#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/arithmetic/both.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

namespace penstock::testing::one_fake_gpu {

void use_tensor(GpuStream stream, const void* tensor, std::uint64_t begin_ns, bool writes) {
  const bool unwritten = gpu->filled_ns[tensor] > begin_ns;
  const bool still_read = writes && gpu->read_ns[tensor] > begin_ns;
  if (unwritten || still_read) ++gpu->hazards;
  auto& ends = writes ? gpu->filled_ns : gpu->read_ns;
  ends[tensor] = std::max(ends[tensor], stream->now_ns);
}

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

/// The speed of an SM: a multiply-add of each thread, or a word of memory, per nanosecond.
std::uint64_t action_ns(const GpuActionKernel& kernel, std::uint32_t task, std::uint64_t sms) {
  if (kernel.work == GpuWork::flops) return kernel.amount;
  if (kernel.work == GpuWork::bytes) return kernel.amount / sms;
  return kernel.task.records[task].duration_ns;
}

/// An SM does 64 elements a nanosecond.
std::uint64_t step_ns(std::uint64_t elements, std::uint64_t sms) {
  return elements / (64 * sms) + 1;
}

namespace {

/// The task of this launch; the queue of a graph moves on.
std::uint32_t next_task(const GpuKernelTask& task) {
  return task.queue == nullptr ? task.task : task.queue[task.progress[0]++];
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

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=] {
    const std::uint64_t first =
        gpu->keeps_partition && !gpu->numbers_by_context ? stream->range.first_sm : 0;
    for (std::uint32_t block = 0; block < kernel.blocks; ++block) {
      kernel.sms_seen[first + block % stream->range.sms] = 1;
    }
    const std::uint32_t task = next_task(kernel.task);
    std::uint64_t begin = begin_of(stream, kernel.task, task);
    const bool waits = !gpu->keeps_partition && kernel.work == GpuWork::flops;
    if (waits) begin = std::max(begin, gpu->shared_sms_ns);
    stamp_begin(kernel.task, task, begin);
    stream->now_ns = begin + action_ns(kernel, task, stream->range.sms) +
                     (kernel.task.stamped ? gpu->stamp_ns : 0);
    if (waits) gpu->shared_sms_ns = stream->now_ns;
    if (kernel.task.stamped) stamp_end(stream, kernel.task, task, begin, 0);
    return 0;
  });
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=] {
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
  if (const int error = refused_now()) return error;
  if (shape.rows > gpu->most_product_rows) return no_algorithm;
  return hand_out(product, new GpuProductTag{shape});
}

/// A multiply-add of each SM takes a nanosecond for 8192.
int launch_product(GpuStream stream, GpuProduct product, const GpuProductMemory& memory) {
  if (!product->is_loaded) {
    if (const int error = refused_now()) return error;
    product->is_loaded = true;
  }
  const GpuProductShape shape = product->shape;
  return enqueue(stream, [=] {
    const std::uint64_t work =
        std::uint64_t{shape.rows} * shape.columns * shape.inner * shape.form.batch;
    if (work <= gpu->most_work) {
      run_on_host(LayerProduct<Bf16>{shape.rows, shape.columns, shape.inner, shape.form,
                                     static_cast<const Bf16*>(memory.a),
                                     static_cast<const Bf16*>(memory.b), memory.c});
    }
    stream->now_ns += work / (8192 * stream->range.sms) + 1;
    return 0;
  });
}

int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t) {
  return enqueue(stream, [=] {
    const std::uint64_t work = threads_of(step);
    if (work <= gpu->most_work / 8) run_on_host(step);
    stream->now_ns += step_ns(work, stream->range.sms);
    return 0;
  });
}

/// By a copy engine.
int move(void* to, const void* from, std::size_t bytes, GpuStream stream) {
  if (!is_allocated(to, bytes) || !is_allocated(from, bytes)) return invalid_value;
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
  return enqueue(stream, [=] {
    const std::uint64_t begin = stream->now_ns;
    stream->now_ns += content_ns;
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

}  // namespace

void add_kernels(GpuCalls& calls) {
  calls.copy_out = move;
  calls.copy_in = move;
  calls.copy_within = move;
  calls.launch_action = launch_action;
  calls.launch_copy = launch_copy;
  calls.launch_begin = launch_begin;
  calls.launch_end = launch_end;
  calls.launch_content = launch_content;
  calls.launch_codec = launch_codec;
  calls.launch_step = launch_step;
  calls.launch_nothing = launch_nothing;
  calls.launch_clock_reader = launch_clock_reader;
  calls.launch_cycle_counter = launch_cycle_counter;
  calls.why_no_products = [] { return ""; };
  calls.make_product = make_product;
  calls.free_product = give_back;
  calls.launch_product = launch_product;
  calls.product_library = [] { return 130'100U; };
  calls.product_library_file = [] { return "libcublasLt.so.13"; };
  calls.product_algorithm = [](GpuProduct) { return std::uint64_t{7}; };
}

}  // namespace penstock::testing::one_fake_gpu
