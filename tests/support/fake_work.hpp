#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "validate/backends/cuda/gpu_calls.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

// What fake GPUs compute, and how long it takes.

namespace penstock::testing {

/// An SM does a multiply-add of each thread, or a word of memory, in a nanosecond.
inline std::uint64_t action_ns(const GpuActionKernel& kernel, std::uint32_t task,
                               std::uint64_t sms) {
  if (kernel.work == GpuWork::flops) return kernel.amount;
  if (kernel.work == GpuWork::bytes) return kernel.amount / sms;
  return kernel.task.records[task].duration_ns;
}

/// An SM does 64 elements a nanosecond.
inline std::uint64_t step_ns(const GpuStep& step, std::uint64_t sms) {
  return threads_of(step) / (64 * sms) + 1;
}
/// Of more, a launch computes nothing.
inline bool is_small(const GpuStep& step, std::uint64_t most_work) {
  return threads_of(step) <= most_work / 8;
}

/// Multiplies, unless it is more than `most_work`. An SM does 8192 multiply-adds a nanosecond.
inline std::uint64_t multiply_ns(const GpuProductShape& shape, const GpuProductMemory& memory,
                                 std::uint64_t most_work, std::uint64_t sms) {
  const std::uint64_t work =
      std::uint64_t{shape.rows} * shape.columns * shape.inner * shape.form.batch;
  if (work <= most_work) {
    run_on_host(LayerProduct<Bf16>{shape.rows, shape.columns, shape.inner, shape.form,
                                   static_cast<const Bf16*>(memory.a),
                                   static_cast<const Bf16*>(memory.b), memory.c});
  }
  return work / (8192 * sms) + 1;
}

/// Fills memory of malloc or calloc. Zeros of large memory are those of new pages: pages that
/// nobody touches stay unmapped.
inline void fill_memory(void* memory, int byte, std::size_t bytes) {
  constexpr std::size_t large = 1 << 20;
  auto* const first = static_cast<std::byte*>(memory);
  if (byte == 0 && bytes >= large) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t ahead = (page - reinterpret_cast<std::uintptr_t>(first) % page) % page;
    const std::size_t whole = (bytes - ahead) / page * page;
    if (madvise(first + ahead, whole, MADV_DONTNEED) == 0) {
      std::memset(first, 0, ahead);
      std::memset(first + ahead + whole, 0, bytes - ahead - whole);
      return;
    }
  }
  std::memset(first, byte, bytes);
}

}  // namespace penstock::testing
