// Functions that both the GPU and the host run, so that tests without a GPU check them.
#ifdef __CUDACC__
#define PENSTOCK_BOTH __host__ __device__ inline
#else
#define PENSTOCK_BOTH inline
#endif
// Arrays stay in registers only when all of their indices are known.
#ifdef __CUDA_ARCH__
#define PENSTOCK_UNROLLED _Pragma("unroll")
#else
#define PENSTOCK_UNROLLED
#endif

#pragma once

#include <cstdint>

namespace penstock {

/// Zero bits above the highest one; the number is not 0.
PENSTOCK_BOTH std::uint32_t leading_zeros(std::uint32_t number) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__clz(static_cast<int>(number)));
#else
  return static_cast<std::uint32_t>(__builtin_clz(number));
#endif
}

/// What a tensor holds at a position, by the transfer that carries it: two tensors have hardly any
/// number in common.
PENSTOCK_BOTH std::uint32_t content_at(std::uint32_t transfer, std::uint64_t position) {
  std::uint64_t mixed = (position + 1) * 0x9E3779B97F4A7C15ULL + transfer * 0xD1B54A32D192ED03ULL;
  mixed ^= mixed >> 32;
  mixed *= 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace penstock
