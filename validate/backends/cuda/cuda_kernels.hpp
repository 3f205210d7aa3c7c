#pragma once

#include <algorithm>

#include "validate/backends/cuda/gpu_calls.hpp"

struct CUstream_st;

namespace penstock {

template <class Number, unsigned head>
struct CausalAttention;
template <class Number, unsigned head>
struct QueryGradient;
template <class Number, unsigned head>
struct KeyGradient;

/// As cudaStream_t.
inline CUstream_st* native(GpuStream stream) { return reinterpret_cast<CUstream_st*>(stream); }

/// Loads kernels now: loading during a stream capture is an error. Returns the first error.
/// `Attributes`: cudaFuncAttributes.
template <class Attributes, class... Kernels>
int load_all(Kernels*... kernels) {
  Attributes attributes{};
  for (const int error : {cudaFuncGetAttributes(&attributes, kernels)...}) {
    if (error != 0) return error;
  }
  return 0;
}

// Blocks and threads of own kernels.
constexpr unsigned content_blocks = 4;
constexpr unsigned content_threads = 256;
constexpr unsigned codec_threads = 256;  // each takes one block of values
constexpr unsigned step_threads = 256;
/// For this many elements, or lanes of rows, on `sms` SMs that each run `blocks_of_sm` at once:
/// none waits for another one to end. None for none.
inline unsigned blocks_of_step(std::uint64_t threads, std::uint32_t sms, unsigned blocks_of_sm) {
  const std::uint64_t wanted = (threads + step_threads - 1) / step_threads;
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, std::uint64_t{sms} * blocks_of_sm));
}

/// Attention: a block has this many rows of a head of an example.
constexpr unsigned attention_threads = 128;
constexpr unsigned attention_rows = 64;
template <class Sizes>
unsigned attention_blocks(const Sizes& sizes) {
  return (sizes.tokens + attention_rows - 1) / attention_rows * sizes.heads * sizes.examples;
}
/// Steps of attention have kernels of their own, on tensor cores.
template <class Step>
constexpr bool goes_in_tiles = false;
template <class Number, unsigned head>
constexpr bool goes_in_tiles<CausalAttention<Number, head>> = true;
template <class Number, unsigned head>
constexpr bool goes_in_tiles<QueryGradient<Number, head>> = true;
template <class Number, unsigned head>
constexpr bool goes_in_tiles<KeyGradient<Number, head>> = true;

// Own kernels. Each call returns 0 or a CUDA error number.

int load_kernels();
int load_codec_kernels();
int load_step_kernels();
int load_attention_kernels();

int launch_action(GpuStream stream, const GpuActionKernel& kernel);
int launch_copy(GpuStream stream, const GpuCopyKernel& kernel);
int launch_begin(GpuStream stream, const GpuKernelTask& task);
int launch_end(GpuStream stream, const GpuKernelTask& task, bool arrives);
int launch_content(GpuStream stream, const GpuContentKernel& kernel);
int launch_codec(GpuStream stream, const GpuCodecKernel& kernel);
int launch_step(GpuStream stream, const GpuStep& step, std::uint32_t sms);
/// Of a step of attention.
int launch_attention(GpuStream stream, const GpuStep& step);
int launch_nothing(GpuStream stream);

/// Records this many distinct clock readings in nanoseconds.
int launch_clock_reader(GpuStream stream, std::uint64_t* readings, std::uint32_t count);
int launch_cycle_counter(GpuStream stream, std::uint64_t* numbers, std::uint32_t rounds);

/// Fills in the green-context calls if the driver has all of them. They are looked up by name and
/// version: a program linked to the driver would not start on a machine without one.
void add_green_contexts(GpuCalls& calls);

/// Fills in the calls of matrix products. The library, of half a gigabyte, is neither linked nor
/// copied: `why_no_products` looks for it at its first call, and refuses it when its major version
/// is not the one of this build.
void add_products(GpuCalls& calls);

/// Numbers of cuBLAS errors among those of CUDA begin here.
constexpr int first_product_error = 20'000;

/// The name of such a number; null for others.
const char* product_error_name(int error);

}  // namespace penstock
