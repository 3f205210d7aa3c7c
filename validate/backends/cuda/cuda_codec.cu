#include <cuda_runtime.h>

#include "validate/backends/cuda/arithmetic/block_float.hpp"
#include "validate/backends/cuda/cuda_kernels.hpp"

namespace penstock {
namespace {

constexpr unsigned threads = codec_threads;
constexpr unsigned value_words = block_values * sizeof(std::uint16_t) / sizeof(uint4);

/// Packed blocks of all threads lie one after the other in shared memory, from where all threads
/// write them side by side: packed blocks are no multiple of a word.
template <unsigned bits>
__global__ void __launch_bounds__(threads) encode(GpuCodecKernel kernel) {
  constexpr unsigned size = packed_bytes(bits);
  __shared__ __align__(16) std::uint8_t staged[threads * size];
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * threads; first < kernel.blocks;
       first += std::uint64_t{gridDim.x} * threads) {
    const std::uint64_t block = first + threadIdx.x;
    if (block < kernel.blocks) {
      uint4 words[value_words];
      const auto* from = reinterpret_cast<const uint4*>(kernel.values) + block * value_words;
      for (unsigned i = 0; i < value_words; ++i) words[i] = from[i];
      pack_block(reinterpret_cast<const std::uint16_t*>(words), bits, staged + threadIdx.x * size);
    }
    __syncthreads();
    // threads * size and thus each begin is a multiple of 16.
    const std::uint64_t here = kernel.blocks - first < threads ? kernel.blocks - first : threads;
    std::uint8_t* const to = kernel.packed + first * size;
    const auto bytes = static_cast<unsigned>(here * size);
    for (unsigned at = threadIdx.x; at < bytes / 16; at += threads) {
      reinterpret_cast<uint4*>(to)[at] = reinterpret_cast<const uint4*>(staged)[at];
    }
    for (unsigned at = bytes / 16 * 16 + threadIdx.x; at < bytes; at += threads) to[at] = staged[at];
    __syncthreads();
  }
}

template <unsigned bits>
__global__ void __launch_bounds__(threads) decode(GpuCodecKernel kernel) {
  constexpr unsigned size = packed_bytes(bits);
  __shared__ __align__(16) std::uint8_t staged[threads * size];
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * threads; first < kernel.blocks;
       first += std::uint64_t{gridDim.x} * threads) {
    const std::uint64_t here = kernel.blocks - first < threads ? kernel.blocks - first : threads;
    const std::uint8_t* const from = kernel.packed + first * size;
    const auto bytes = static_cast<unsigned>(here * size);
    for (unsigned at = threadIdx.x; at < bytes / 16; at += threads) {
      reinterpret_cast<uint4*>(staged)[at] = reinterpret_cast<const uint4*>(from)[at];
    }
    for (unsigned at = bytes / 16 * 16 + threadIdx.x; at < bytes; at += threads) staged[at] = from[at];
    __syncthreads();
    const std::uint64_t block = first + threadIdx.x;
    if (block < kernel.blocks) {
      uint4 words[value_words];
      unpack_block(staged + threadIdx.x * size, bits, reinterpret_cast<std::uint16_t*>(words));
      auto* to = reinterpret_cast<uint4*>(kernel.values) + block * value_words;
      for (unsigned i = 0; i < value_words; ++i) to[i] = words[i];
    }
    __syncthreads();
  }
}

template <unsigned bits>
int launch(cudaStream_t stream, const GpuCodecKernel& kernel) {
  if (kernel.decodes) {
    decode<bits><<<kernel.grid, threads, 0, stream>>>(kernel);
  } else {
    encode<bits><<<kernel.grid, threads, 0, stream>>>(kernel);
  }
  return cudaGetLastError();
}

}  // namespace

int load_codec_kernels() {
  return load_all<cudaFuncAttributes>(encode<4>, encode<6>, encode<8>, decode<4>, decode<6>,
                                      decode<8>);
}

int launch_codec(GpuStream stream, const GpuCodecKernel& kernel) {
  switch (kernel.bits) {
    case 4:
      return launch<4>(native(stream), kernel);
    case 6:
      return launch<6>(native(stream), kernel);
    case 8:
      return launch<8>(native(stream), kernel);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace penstock
