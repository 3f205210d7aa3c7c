#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace penstock {

/// What an action does on its SMs.
enum class GpuWork : std::uint8_t {
  spin,      // waits until its time is over
  flops,     // a fixed number of multiply-adds
  bytes,     // a fixed number of bytes read and written
  products,  // a fixed number of bf16 matrix products of cuBLASLt
  // A pass of a fixed number of layers:
  transformer,
  gated_transformer,  // with SwiGLU
  convolution,
  conditional_convolution,
};

/// All of them, by name.
constexpr std::pair<std::string_view, GpuWork> gpu_works[] = {
    {"spin", GpuWork::spin},
    {"flops", GpuWork::flops},
    {"bytes", GpuWork::bytes},
    {"products", GpuWork::products},
    {"transformer", GpuWork::transformer},
    {"gated_transformer", GpuWork::gated_transformer},
    {"convolution", GpuWork::convolution},
    {"conditional_convolution", GpuWork::conditional_convolution},
};

/// The sizes of layers.
struct GpuLayerSizes {
  std::uint32_t examples = 8;
  std::uint32_t tokens = 256;  // of an example
  std::uint32_t heads = 16;
  std::uint32_t head = 64;     // numbers of a head: 64 or 128
  std::uint32_t inner = 4096;  // of the feed-forward network
  std::uint32_t gated_inner = 2816;
  std::uint32_t images = 16;
  std::uint32_t channels = 256;
  std::uint32_t side = 28;  // of an image
  std::uint32_t window = 3;
  std::uint32_t kernels = 4;  // mixed per image
};

}  // namespace penstock
