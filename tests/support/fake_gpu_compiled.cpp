// Launches of the fake GPU that run the kernels that nvcc compiled.
#include <algorithm>

#include "tests/support/fake_gpu_parts.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

namespace penstock::testing::one_fake_gpu {
namespace compiled {
namespace {

ptx::Launch place_of(GpuStream stream) {
  ptx::Launch at;
  at.begin_ns = stream->now_ns;
  const bool numbered = gpu->keeps_partition && !gpu->numbers_by_context;
  at.first_sm = static_cast<std::uint32_t>(numbered ? stream->range.first_sm : 0);
  at.sms = static_cast<std::uint32_t>(stream->range.sms);
  at.seed = gpu->kernels_run++;
  return at;
}

std::uint32_t task_of(const GpuKernelTask& task) {
  return task.queue == nullptr ? task.task : task.queue[task.progress[0]];
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

/// Runs the kernel of a task and notes its stamps. `kernel` gives the time of its end. Returns the
/// begin of the task.
template <class Kernel>
std::uint64_t run_task(GpuStream stream, const GpuKernelTask& task, const Kernel& kernel) {
  const std::uint32_t own = task_of(task);
  const std::uint64_t begin = begin_of(stream, task, own);
  const std::uint64_t begin_before = task.begin_ns[own];
  const std::uint64_t end_before = task.end_ns[own];
  stream->now_ns = kernel(own);
  note(task.begin_ns[own], begin_before, begin, begin);
  note(task.end_ns[own], end_before, begin, stream->now_ns);
  return begin;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=] {
    const bool waits = !gpu->keeps_partition && kernel.work == GpuWork::flops;
    if (waits) stream->now_ns = std::max(stream->now_ns, gpu->shared_sms_ns);
    run_task(stream, kernel.task, [&](std::uint32_t own) {
      const ptx::Launch at = place_of(stream);
      const std::uint64_t ns = action_ns(kernel, own, at.sms);
      return ptx::run_action(*gpu->kernels, at, kernel, {ns, gpu->most_work});
    });
    if (kernel.task.stamped) stream->now_ns += gpu->stamp_ns;
    if (waits) gpu->shared_sms_ns = stream->now_ns;
    return 0;
  });
}

int launch_copy(GpuStream stream, GpuCopyKernel kernel) {
  return launch(stream, kernel.blocks, kernel.threads, [=]() mutable {
    if (gpu->copies++ == static_cast<std::uint64_t>(gpu->lost_copy)) kernel.bytes = 0;
    ptx::Launch at = place_of(stream);
    if (gpu->copy_ns_least > 0) at.work = {1, gpu->copy_ns_least};
    const std::uint64_t begin = run_task(stream, kernel.task, [&](std::uint32_t) {
      return ptx::run_copy(*gpu->kernels, at, kernel);
    });
    use_tensor(stream, kernel.from, begin, false);
    use_tensor(stream, kernel.to, begin, true);
    return 0;
  });
}

int launch_begin(GpuStream stream, const GpuKernelTask& task) {
  return enqueue(stream, [=] {
    run_task(stream, task,
             [&](std::uint32_t) { return ptx::run_begin(*gpu->kernels, place_of(stream), task); });
    if (task.stamped) stream->now_ns += gpu->stamp_ns;
    return 0;
  });
}

int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives) {
  return enqueue(stream, [=] {
    const std::uint32_t own = task_of(task);
    const std::uint64_t before = task.end_ns[own];
    const std::uint64_t begin = stream->now_ns;
    stream->now_ns = ptx::run_end(*gpu->kernels, place_of(stream), task, arrives);
    note(task.end_ns[own], before, begin, stream->now_ns);
    return 0;
  });
}

int launch_content(GpuStream stream, const GpuContentKernel& kernel) {
  return enqueue(stream, [=] {
    const std::uint64_t begin = stream->now_ns;
    stream->now_ns = ptx::run_content(*gpu->kernels, place_of(stream), kernel) + content_ns;
    use_tensor(stream, kernel.memory, begin, kernel.wrong == nullptr);
    return 0;
  });
}

int launch_codec(GpuStream stream, const GpuCodecKernel& kernel) {
  return enqueue(stream, [=] {
    stream->now_ns = ptx::run_codec(*gpu->kernels, place_of(stream), kernel) + kernel.blocks;
    return 0;
  });
}

int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t sms) {
  return enqueue(stream, [=] {
    const std::uint64_t work = threads_of(step);
    ptx::Launch at = place_of(stream);
    at.sms = sms;
    if (work <= gpu->most_work / 8) ptx::run_step(*gpu->kernels, at, step);
    stream->now_ns += step_ns(work, stream->range.sms);
    return 0;
  });
}

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  return enqueue(stream, [=] {
    stream->now_ns = ptx::run_clock_reader(*gpu->kernels, place_of(stream), readings, count);
    return 0;
  });
}

int launch_cycle_counter(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds) {
  return enqueue(stream, [=] {
    ptx::Launch at = place_of(stream);
    at.work = {rounds, 2 * std::uint64_t{rounds}};
    stream->now_ns = ptx::run_cycle_counter(*gpu->kernels, at, numbers, rounds);
    return 0;
  });
}

}  // namespace
}  // namespace compiled

void add_compiled_kernels(GpuCalls& calls) {
  calls.launch_action = compiled::launch_action;
  calls.launch_copy = [](GpuStream stream, const GpuCopyKernel& kernel) {
    return compiled::launch_copy(stream, kernel);
  };
  calls.launch_begin = compiled::launch_begin;
  calls.launch_end = compiled::launch_end;
  calls.launch_content = compiled::launch_content;
  calls.launch_codec = compiled::launch_codec;
  calls.launch_step = compiled::launch_step;
  calls.launch_clock_reader = compiled::launch_clock_reader;
  calls.launch_cycle_counter = compiled::launch_cycle_counter;
}

}  // namespace penstock::testing::one_fake_gpu
