#pragma once

#include <cstdint>

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

namespace penstock {

/// Zero bits above the highest one; the number is not 0.
PENSTOCK_BOTH std::uint32_t leading_zeros(std::uint32_t number) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__clz(static_cast<int>(number)));
#else
  return static_cast<std::uint32_t>(__builtin_clz(number));
#endif
}

}  // namespace penstock
