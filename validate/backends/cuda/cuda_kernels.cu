#include <cuda_runtime.h>

#include "validate/backends/cuda/arithmetic/both.hpp"
#include "validate/backends/cuda/cuda_kernels.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t copy_parts = 16;
constexpr std::uint32_t words_in_flight = 4;  // of a thread that moves memory
// Of copies: two blocks of the largest size are on an SM at once, as `link_engine` counts on.
constexpr unsigned most_copy_threads = 1024;
constexpr unsigned copy_blocks_of_sm = 2;

__device__ std::uint64_t now_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ std::uint32_t this_sm() {
  std::uint32_t id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__device__ void wait_until(std::uint64_t ns) {
  while (now_ns() < ns) __nanosleep(64);
}

__device__ unsigned long long* counter(std::uint64_t* number) {
  return reinterpret_cast<unsigned long long*>(number);
}

/// The task of this launch.
__device__ std::uint32_t task_of(const GpuKernelTask& task) {
  return task.queue == nullptr ? task.task : task.queue[task.progress[0]];
}

/// The last block of a launch makes the next launch of its graph that of the next task. All blocks
/// have read `progress` before.
__device__ void leave(const GpuKernelTask& task) {
  if (task.queue == nullptr) return;
  __threadfence();
  if (atomicAdd(&task.progress[1], 1U) + 1 < gridDim.x) return;
  task.progress[1] = 0;
  ++task.progress[0];
  __threadfence();
}

/// Waits for inputs in flight and records the begin of the first block. The kernels that wrote the
/// end stamps have finished, so nothing here waits for a kernel that may not have started.
__device__ std::uint64_t begin_of(const GpuKernelTask& task, std::uint32_t own) {
  const GpuTaskRecord& record = task.records[own];
  for (std::uint32_t i = 0; i < record.input_count; ++i) {
    wait_until(task.end_ns[task.inputs[record.first_input + i]]);
  }
  const std::uint64_t now = now_ns();
  if (!task.stamped) return now;
  const std::uint64_t first = atomicMin(counter(&task.begin_ns[own]), now);
  return first < now ? first : now;
}

/// The last block's stamp remains.
__device__ void end_at(const GpuKernelTask& task, std::uint32_t own, std::uint64_t ns) {
  atomicMax(counter(&task.end_ns[own]), ns);
}

/// Called by one thread of each block.
__device__ std::uint64_t enter_action(const GpuActionKernel& kernel, std::uint32_t own) {
  kernel.sms_seen[this_sm() % most_sm_ids] = 1;
  return begin_of(kernel.task, own);
}

__device__ void leave_action(const GpuActionKernel& kernel, std::uint32_t own) {
  if (kernel.task.stamped) end_at(kernel.task, own, now_ns());
  leave(kernel.task);
}

/// One block on each SM of a rank, until the time of its task is over.
__global__ void wait_action(GpuActionKernel kernel) {
  if (threadIdx.x != 0) return;
  const std::uint32_t own = task_of(kernel.task);
  wait_until(enter_action(kernel, own) + kernel.task.records[own].duration_ns);
  leave_action(kernel, own);
}

/// A chain of multiply-adds, which no compiler shortens: their result decides on a store.
__device__ void multiply_add(std::uint64_t rounds, unsigned char* sink) {
  constexpr int chains = gpu_flop_chains;
  float values[chains];
  for (int i = 0; i < chains; ++i) values[i] = 0.5F + 0.01F * static_cast<float>(threadIdx.x + i);
  for (std::uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < chains; ++i) values[i] = fmaf(values[i], 0.9999F, 0.0001F);
  }
  float sum = 0;
  for (const float value : values) sum += value;
  if (sum == -1.0F) *sink = 1;
}

__global__ void flops_action(GpuActionKernel kernel) {
  const std::uint32_t own = task_of(kernel.task);
  if (threadIdx.x == 0) enter_action(kernel, own);
  __syncthreads();
  multiply_add(kernel.amount / gpu_flop_chains, kernel.sms_seen);
  __syncthreads();
  if (threadIdx.x == 0) leave_action(kernel, own);
}

/// Copies the words of all threads up to `end`, in buffers whose indices have a mask. Each thread
/// loads several before it stores one: one after the other, it would wait for memory each time.
__device__ void move_words(const uint4* from, uint4* to, std::uint32_t mask, std::uint64_t begin,
                           std::uint64_t end) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  std::uint64_t at = begin + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto index = [&](std::uint32_t turn) {
    return (static_cast<std::uint32_t>(at) + turn * step) & mask;
  };
  for (; at + std::uint64_t{words_in_flight - 1} * step < end; at += words_in_flight * step) {
    uint4 words[words_in_flight];
#pragma unroll
    for (std::uint32_t i = 0; i < words_in_flight; ++i) words[i] = from[index(i)];
#pragma unroll
    for (std::uint32_t i = 0; i < words_in_flight; ++i) to[index(i)] = words[i];
  }
  for (; at < end; at += step) to[index(0)] = from[index(0)];
}

/// The mask of the indices of a buffer.
__device__ std::uint32_t mask_of(std::uint64_t words) {
  return static_cast<std::uint32_t>(words - 1);
}

/// Reads words of the first half of the memory and writes them to the second half.
__device__ void stream_words(const GpuActionKernel& kernel) {
  auto* const words = static_cast<uint4*>(kernel.memory);
  const std::uint64_t half = kernel.words / 2;
  move_words(words, words + half, mask_of(half), 0, kernel.amount);
}

__global__ void bytes_action(GpuActionKernel kernel) {
  const std::uint32_t own = task_of(kernel.task);
  if (threadIdx.x == 0) enter_action(kernel, own);
  __syncthreads();
  stream_words(kernel);
  __syncthreads();
  if (threadIdx.x == 0) leave_action(kernel, own);
}

/// All threads of all blocks copy one of `copy_parts` parts.
__device__ void copy_part(const GpuCopyKernel& kernel, std::uint64_t part) {
  const std::uint64_t words = (kernel.bytes + sizeof(uint4) - 1) / sizeof(uint4);
  move_words(static_cast<const uint4*>(kernel.from), static_cast<uint4*>(kernel.to),
             mask_of(kernel.buffer_bytes / sizeof(uint4)), words * part / copy_parts,
             words * (part + 1) / copy_parts);
}

/// No part finishes before its share of the time.
__global__ void __launch_bounds__(most_copy_threads, copy_blocks_of_sm)
    copy(GpuCopyKernel kernel) {
  const std::uint32_t own = kernel.task.task;
  const GpuTaskRecord& record = kernel.task.records[own];
  std::uint64_t begin = 0;
  if (threadIdx.x == 0) begin = begin_of(kernel.task, own);
  __syncthreads();
  for (std::uint64_t part = 0; part < copy_parts; ++part) {
    copy_part(kernel, part);
    __syncthreads();
    if (threadIdx.x == 0) wait_until(begin + record.duration_ns * (part + 1) / copy_parts);
    __syncthreads();
  }
  if (threadIdx.x == 0) end_at(kernel.task, own, now_ns() + record.latency_ns);
}

__global__ void begin_stamp(GpuKernelTask task) { begin_of(task, task_of(task)); }

/// Of an action without stamps, only the queue of its graph moves on.
__global__ void end_stamp(GpuKernelTask task, bool arrives) {
  const std::uint32_t own = task_of(task);
  if (arrives || task.stamped) end_at(task, own, now_ns() + task.records[own].latency_ns);
  leave(task);
}

__global__ void content(GpuContentKernel kernel) {
  auto* const words = static_cast<uint4*>(kernel.memory);
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < kernel.words;
       at += threads) {
    const std::uint32_t expected = content_at(kernel.transfer, at);
    if (kernel.wrong == nullptr) {
      words[at] = make_uint4(expected, expected + 1, expected + 2, expected + 3);
      continue;
    }
    const uint4 seen = words[at];
    const bool same = seen.x == expected && seen.y == expected + 1 && seen.z == expected + 2 &&
                      seen.w == expected + 3;
    if (!same) atomicAdd(kernel.wrong, 1U);
  }
}

__global__ void nothing() {}

__global__ void read_clock(std::uint64_t* readings, std::uint32_t count) {
  std::uint64_t last = now_ns();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t now = now_ns();
    while (now == last) now = now_ns();
    readings[i] = last = now;
  }
}

__global__ void count_cycles(std::uint64_t* numbers, std::uint32_t rounds) {
  const std::uint64_t begin_ns = now_ns();
  const long long begin = clock64();
  float value = 1;
  for (std::uint32_t round = 0; round < rounds; ++round) value = fmaf(value, 0.9999F, 0.0001F);
  const long long end = clock64();
  numbers[1] = now_ns() - begin_ns;
  numbers[0] = static_cast<std::uint64_t>(end - begin) + (value == -1.0F ? 1U : 0U);
}

}  // namespace

int load_kernels() {
  return load_all<cudaFuncAttributes>(wait_action, flops_action, bytes_action, copy, begin_stamp,
                                      end_stamp, content, nothing, read_clock, count_cycles);
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  const auto run = [&](auto* body) {
    body<<<kernel.blocks, kernel.threads, 0, native(stream)>>>(kernel);
  };
  switch (kernel.work) {
    case GpuWork::spin:
      run(wait_action);
      break;
    case GpuWork::flops:
      run(flops_action);
      break;
    case GpuWork::bytes:
      run(bytes_action);
      break;
    default:
      return cudaErrorInvalidValue;  // not one kernel
  }
  return cudaGetLastError();
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  copy<<<kernel.blocks, kernel.threads, 0, native(stream)>>>(kernel);
  return cudaGetLastError();
}

int launch_begin(GpuStream stream, const GpuKernelTask& task) {
  begin_stamp<<<1, 1, 0, native(stream)>>>(task);
  return cudaGetLastError();
}

int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives) {
  end_stamp<<<1, 1, 0, native(stream)>>>(task, arrives);
  return cudaGetLastError();
}

int launch_content(GpuStream stream, const GpuContentKernel& kernel) {
  content<<<content_blocks, content_threads, 0, native(stream)>>>(kernel);
  return cudaGetLastError();
}

int launch_nothing(GpuStream stream) {
  nothing<<<1, 1, 0, native(stream)>>>();
  return cudaGetLastError();
}

int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count) {
  read_clock<<<1, 1, 0, native(stream)>>>(readings, count);
  return cudaGetLastError();
}

int launch_cycle_counter(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds) {
  count_cycles<<<1, 1, 0, native(stream)>>>(numbers, rounds);
  return cudaGetLastError();
}

}  // namespace penstock
