#include <cuda_runtime.h>

#include "validate/backends/cuda/cuda_kernels.hpp"

namespace penstock {
namespace {

constexpr unsigned warp = 32;
constexpr std::uint64_t copy_parts = 16;

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

/// Waits for inputs in flight and records the begin of the first block. The kernels that wrote the
/// end stamps have finished, so nothing here waits for a kernel that may not have started.
__device__ std::uint64_t begin_of(const GpuKernelTask& task) {
  for (std::uint32_t i = 0; i < task.input_count; ++i) wait_until(task.end_ns[task.inputs[i]]);
  const std::uint64_t now = now_ns();
  const std::uint64_t first = atomicMin(counter(&task.begin_ns[task.task]), now);
  return first < now ? first : now;
}

/// The last block's stamp remains.
__device__ void end_at(const GpuKernelTask& task, std::uint64_t ns) {
  atomicMax(counter(&task.end_ns[task.task]), ns);
}

/// One block on each SM of a rank, until the time of its task is over.
__global__ void action(GpuActionKernel kernel) {
  if (threadIdx.x != 0) return;
  kernel.sms_seen[this_sm() % most_sm_ids] = 1;
  wait_until(begin_of(kernel.task) + kernel.task.duration_ns);
  end_at(kernel.task, now_ns());
}

/// All threads of all blocks copy one of `copy_parts` parts.
__device__ void copy_part(const GpuCopyKernel& kernel, std::uint64_t part) {
  const auto* __restrict__ from = static_cast<const uint4*>(kernel.from);
  auto* __restrict__ to = static_cast<uint4*>(kernel.to);
  const std::uint64_t words = (kernel.bytes + sizeof(uint4) - 1) / sizeof(uint4);
  const std::uint64_t in_buffer = kernel.buffer_bytes / sizeof(uint4) - 1;  // a mask
  const std::uint64_t last = words * (part + 1) / copy_parts;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t at = words * part / copy_parts + std::uint64_t{blockIdx.x} * blockDim.x;
#pragma unroll 4
  for (at += threadIdx.x; at < last; at += threads) to[at & in_buffer] = from[at & in_buffer];
}

/// No part finishes before its share of the time.
__global__ void copy(GpuCopyKernel kernel) {
  std::uint64_t begin = 0;
  if (threadIdx.x == 0) begin = begin_of(kernel.task);
  __syncthreads();
  for (std::uint64_t part = 0; part < copy_parts; ++part) {
    copy_part(kernel, part);
    __syncthreads();
    if (threadIdx.x == 0) wait_until(begin + kernel.task.duration_ns * (part + 1) / copy_parts);
    __syncthreads();
  }
  if (threadIdx.x == 0) end_at(kernel.task, now_ns() + kernel.latency_ns);
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

cudaStream_t native(GpuStream stream) { return reinterpret_cast<cudaStream_t>(stream); }

template <class Kernel>
int load(Kernel* kernel) {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, kernel);
}

}  // namespace

int load_kernels() {
  for (const int error : {load(action), load(copy), load(nothing), load(read_clock)}) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

int launch_action(GpuStream stream, const GpuActionKernel& kernel) {
  action<<<kernel.blocks, warp, 0, native(stream)>>>(kernel);
  return cudaGetLastError();
}

int launch_copy(GpuStream stream, const GpuCopyKernel& kernel) {
  copy<<<kernel.blocks, kernel.threads, 0, native(stream)>>>(kernel);
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

}  // namespace penstock
