// The kernels and copies of the fake GPU: those that nvcc compiled, if it has any, or its own.
#include <algorithm>
#include <cstring>

#include "tests/support/fake_gpu_parts.hpp"
#include "tests/support/fake_work.hpp"
#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/arithmetic/both.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

namespace penstock::testing::one_fake_gpu {
namespace {

constexpr std::uint64_t content_ns = 100;

/// Notes that a kernel of this stream reads or writes a tensor from `begin_ns` until its end.
void use_tensor(GpuStream stream, const void* tensor, std::uint64_t begin_ns, bool writes) {
  const bool unwritten = gpu->filled_ns[tensor] > begin_ns;
  const bool still_read = writes && gpu->read_ns[tensor] > begin_ns;
  if (unwritten || still_read) ++gpu->hazards;
  auto& ends = writes ? gpu->filled_ns : gpu->read_ns;
  ends[tensor] = std::max(ends[tensor], stream->now_ns);
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

/// The first SM of a stream, by the ids that its kernels see.
std::uint64_t first_sm_of(GpuStream stream) {
  return gpu->keeps_partition && !gpu->numbers_by_context ? stream->range.first_sm : 0;
}

ptx::Launch place_of(GpuStream stream) {
  ptx::Launch at;
  at.begin_ns = stream->now_ns;
  at.first_sm = static_cast<std::uint32_t>(first_sm_of(stream));
  at.sms = static_cast<std::uint32_t>(stream->range.sms);
  at.seed = gpu->kernels_run++;
  return at;
}

/// Notes when a stamp was written. Memory that is cleared after the task began loses it.
void note(std::uint64_t& stamp, std::uint64_t before, std::uint64_t begin_ns,
          std::uint64_t now_ns) {
  if (begin_ns < gpu->cleared_ns) {
    stamp = before;
  } else if (stamp != before) {
    gpu->written_ns[&stamp] = now_ns;
  }
}

/// A task in a launch of its kernel.
struct RunningTask {
  const GpuKernelTask& task;
  std::uint32_t own;  // its number
  std::uint64_t begin_ns;

  const GpuTaskRecord& record() const { return task.records[own]; }

  // What the fake's own kernels do.
  void stamp_begin() const {
    if (task.stamped) task.begin_ns[own] = std::min(task.begin_ns[own], begin_ns);
  }
  void stamp_end(std::uint64_t ns) const { task.end_ns[own] = std::max(task.end_ns[own], ns); }
  void move_queue() const {
    if (task.queue != nullptr) ++task.progress[0];
  }
};

/// Runs the kernel of a task and notes its stamps: `kernel(running)` gives the time of its end.
/// Returns the begin of the task.
template <class Kernel>
std::uint64_t run_task(GpuStream stream, const GpuKernelTask& task, const Kernel& kernel) {
  const std::uint32_t own = task.queue == nullptr ? task.task : task.queue[task.progress[0]];
  const RunningTask running{task, own, begin_of(stream, task, own)};
  const std::uint64_t begin_before = task.begin_ns[own];
  const std::uint64_t end_before = task.end_ns[own];
  stream->now_ns = kernel(running);
  note(task.begin_ns[own], begin_before, running.begin_ns, running.begin_ns);
  note(task.end_ns[own], end_before, running.begin_ns, stream->now_ns);
  return running.begin_ns;
}

std::uint64_t run_action(GpuStream stream, const GpuActionKernel& kernel,
                         const RunningTask& running) {
  const std::uint64_t ns = action_ns(kernel, running.own, stream->range.sms);
  if (gpu->kernels != nullptr) {
    return ptx::run_action(*gpu->kernels, place_of(stream), kernel, {ns, gpu->most_work});
  }
  for (std::uint32_t block = 0; block < kernel.blocks; ++block) {
    kernel.sms_seen[first_sm_of(stream) + block % stream->range.sms] = 1;
  }
  running.move_queue();
  running.stamp_begin();
  if (running.task.stamped) running.stamp_end(running.begin_ns + ns);
  return running.begin_ns + ns;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=] {
    const bool waits = !gpu->keeps_partition && kernel.work == GpuWork::flops;
    if (waits) stream->now_ns = std::max(stream->now_ns, gpu->shared_sms_ns);
    run_task(stream, kernel.task,
             [&](const RunningTask& running) { return run_action(stream, kernel, running); });
    if (kernel.task.stamped) stream->now_ns += gpu->stamp_ns;
    if (waits) gpu->shared_sms_ns = stream->now_ns;
  });
}

std::uint64_t run_copy(GpuStream stream, const GpuCopyKernel& kernel, const RunningTask& running) {
  if (gpu->kernels != nullptr) {
    ptx::Launch at = place_of(stream);
    if (gpu->copy_ns_least > 0) at.work = {1, gpu->copy_ns_least};
    return ptx::run_copy(*gpu->kernels, at, kernel);
  }
  const GpuTaskRecord& record = running.record();
  const std::uint64_t end = running.begin_ns + std::max(record.duration_ns, gpu->copy_ns_least);
  std::memcpy(kernel.to, kernel.from, std::min(kernel.bytes, kernel.buffer_bytes));
  running.stamp_begin();
  running.stamp_end(end + record.latency_ns);
  return end;
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=] {
    GpuCopyKernel moved = kernel;
    if (gpu->copies++ == static_cast<std::uint64_t>(gpu->lost_copy)) moved.bytes = 0;
    const std::uint64_t begin = run_task(stream, kernel.task, [&](const RunningTask& running) {
      return run_copy(stream, moved, running);
    });
    use_tensor(stream, kernel.from, begin, false);
    use_tensor(stream, kernel.to, begin, true);
  });
}

int launch_begin(GpuStream stream, const GpuKernelTask& task) {
  return enqueue(stream, [=] {
    run_task(stream, task, [&](const RunningTask& running) {
      if (gpu->kernels != nullptr) return ptx::run_begin(*gpu->kernels, place_of(stream), task);
      running.stamp_begin();
      return running.begin_ns;
    });
    if (task.stamped) stream->now_ns += gpu->stamp_ns;
  });
}

int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives) {
  return enqueue(stream, [=] {
    run_task(stream, task, [&](const RunningTask& running) {
      if (gpu->kernels != nullptr) {
        return ptx::run_end(*gpu->kernels, place_of(stream), task, arrives);
      }
      running.move_queue();
      const std::uint64_t arrival = stream->now_ns + running.record().latency_ns;
      if (arrives || task.stamped) running.stamp_end(arrival);
      return stream->now_ns;
    });
  });
}

int make_product(GpuProduct* product, const GpuProductShape& shape) {
  if (const int error = refused_now()) return error;
  if (shape.rows > gpu->most_product_rows) return no_algorithm;
  return hand_out(product, new GpuProductTag{shape});
}

int launch_product(GpuStream stream, GpuProduct product, const GpuProductMemory& memory) {
  if (!product->is_loaded) {
    if (const int error = refused_now()) return error;
    product->is_loaded = true;
  }
  const GpuProductShape shape = product->shape;
  return enqueue(stream, [=] {
    stream->now_ns += multiply_ns(shape, memory, gpu->most_work, stream->range.sms);
  });
}

int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t sms) {
  return enqueue(stream, [=] {
    const bool computes = is_small(step, gpu->most_work);
    if (computes && gpu->kernels != nullptr) {
      ptx::Launch at = place_of(stream);
      at.sms = sms;
      ptx::run_step(*gpu->kernels, at, step);
    } else if (computes) {
      run_on_host(step);
    }
    stream->now_ns += step_ns(step, stream->range.sms);
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
  });
}

void write_or_check(const GpuContentKernel& kernel) {
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
}

int launch_content(GpuStream stream, const GpuContentKernel& kernel) {
  return enqueue(stream, [=] {
    const std::uint64_t begin = stream->now_ns;
    if (gpu->kernels != nullptr) {
      stream->now_ns = ptx::run_content(*gpu->kernels, place_of(stream), kernel);
    } else {
      write_or_check(kernel);
    }
    stream->now_ns += content_ns;
    use_tensor(stream, kernel.memory, begin, kernel.wrong == nullptr);
  });
}

void encode_or_decode(const GpuCodecKernel& kernel) {
  for (std::uint64_t block = 0; block < kernel.blocks; ++block) {
    std::uint16_t* const values = kernel.values + block * block_values;
    std::uint8_t* const packed = kernel.packed + block * packed_bytes(kernel.bits);
    if (kernel.decodes) {
      unpack_block(packed, kernel.bits, values);
    } else {
      pack_block(values, kernel.bits, packed);
    }
  }
}

int launch_codec(GpuStream stream, const GpuCodecKernel& kernel) {
  return enqueue(stream, [=] {
    if (gpu->kernels != nullptr) {
      stream->now_ns = ptx::run_codec(*gpu->kernels, place_of(stream), kernel);
    } else {
      encode_or_decode(kernel);
    }
    stream->now_ns += kernel.blocks;
  });
}

int launch_cycle_counter(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds) {
  return enqueue(stream, [=] {
    const std::uint64_t ns = 2 * std::uint64_t{rounds};
    if (gpu->kernels != nullptr) {
      ptx::Launch at = place_of(stream);
      at.work = {rounds, ns};
      stream->now_ns = ptx::run_cycle_counter(*gpu->kernels, at, numbers, rounds);
      return;
    }
    numbers[0] = 4 * std::uint64_t{rounds};
    numbers[1] = ns;
    stream->now_ns += ns;
  });
}

int launch_nothing(GpuStream stream) {
  return enqueue(stream, [] {});
}

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  constexpr std::uint64_t tick_ns = 32;
  return enqueue(stream, [=] {
    if (gpu->kernels != nullptr) {
      stream->now_ns = ptx::run_clock_reader(*gpu->kernels, place_of(stream), readings, count);
      return;
    }
    for (std::uint32_t i = 0; i < count; ++i) readings[i] = i * tick_ns;
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
