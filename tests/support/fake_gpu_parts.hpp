#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "tests/support/fake_gpu.hpp"

namespace penstock {

constexpr std::uint32_t no_queue = UINT32_MAX;

struct GpuContextTag {
  testing::FakeGpu::Range range;
  std::uint32_t queue = no_queue;  // of its default stream
};

struct GpuStreamTag {
  testing::FakeGpu::Range range;
  GpuContext context = nullptr;
  std::uint32_t queue = 0;
  std::uint64_t now_ns = 0;  // when its queued work ends
  bool unjoined = false;     // has captured work that the origin stream does not wait for
};

struct GpuEventTag {
  GpuContext context = nullptr;
  std::uint64_t ns = 0;
  GpuStream stream = nullptr;
  bool is_timer = false;
  bool captured = false;
};

struct GpuGraphTag {
  std::vector<std::function<void()>> work;
  std::set<GpuStream> streams;
};

struct GpuExecutableTag {
  GpuGraphTag graph;
};

struct GpuProductTag {
  GpuProductShape shape;
  bool is_loaded = false;  // the library loads its kernels at the first launch
};

namespace testing::one_fake_gpu {

// CUDA error numbers.
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_configuration = 9;
constexpr int invalid_handle = 400;
constexpr int not_ready = 600;
constexpr int illegal_address = 700;
constexpr int launch_failure = 719;
constexpr int capture_unsupported = 900;
constexpr int capture_invalidated = 901;
constexpr int capture_unjoined = 904;
constexpr int capture_isolation = 905;
constexpr int captured_event = 907;
constexpr int invalid_resource = 915;
constexpr int no_algorithm = 20'015;  // CUBLAS_STATUS_NOT_SUPPORTED

/// The one there is.
inline FakeGpu* gpu = nullptr;

/// The error of a call that is none of a stream: that of an earlier kernel, or a refusal while a
/// stream is captured, which ends the capture (cudaThreadExchangeStreamCaptureMode); else 0.
int refused_now();

template <class Tag>
int hand_out(Tag** place, Tag* made) {
  gpu->handed_out.insert(made);
  *place = made;
  return 0;
}

template <class Tag>
int give_back(Tag* tag) {
  if (gpu->handed_out.erase(tag) == 0) return illegal_address;
  delete tag;
  return 0;
}

/// Runs work of a stream, or adds it to the captured graph.
int enqueue(GpuStream stream, std::function<void()> work);

/// The same of a counted kernel, whose launch may be refused.
int launch(GpuStream stream, std::uint32_t blocks, std::uint32_t threads,
           std::function<void()> work);

/// Whether an allocation holds all of these bytes.
bool is_allocated(const void* memory, std::size_t bytes);

/// Adds what launches kernels and copies.
void add_kernels(GpuCalls& calls);

}  // namespace testing::one_fake_gpu
}  // namespace penstock
