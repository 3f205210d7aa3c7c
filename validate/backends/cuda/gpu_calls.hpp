#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock {

// Handles of a GPU.
using GpuStream = struct GpuStreamTag*;
using GpuEvent = struct GpuEventTag*;
using GpuGraph = struct GpuGraphTag*;
using GpuExecutable = struct GpuExecutableTag*;  // a graph ready to launch
using GpuContext = struct GpuContextTag*;        // a green context: owns some of the SMs

/// Releases a handle once.
template <class Tag>
using GpuOwner = std::unique_ptr<Tag, int (*)(Tag*)>;

/// A group of streaming multiprocessors.
struct SmGroup {
  std::uint32_t sms = 0;
  std::uint32_t least = 0;                               // the smallest part of it
  std::uint32_t alignment = 0;                           // parts are multiples of this
  alignas(8) std::array<std::byte, 256> of_driver = {};  // the driver's representation
};

struct GpuFacts {
  std::array<char, 256> name = {};
  int compute_major = 0;
  int compute_minor = 0;
  std::uint32_t sms = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t queues = 0;  // hardware queues; streams beyond these wait for each other
  int driver = 0;            // newest CUDA version the driver supports; 13000 is 13.0
  int runtime = 0;           // the version this build uses, same format
};

/// What each kernel needs to know about its task. All pointers are to GPU memory.
struct GpuKernelTask {
  std::uint64_t* begin_ns;      // by task: begin stamp; all bits set before
  std::uint64_t* end_ns;        // by task: end or arrival stamp; 0 before
  const std::uint32_t* inputs;  // the kernel begins after these tasks have ended
  std::uint32_t input_count;
  std::uint32_t task;
  std::uint64_t duration_ns;
};

/// All SM ids are below this.
constexpr std::uint32_t most_sm_ids = 1024;

/// Occupies SMs for the time of a task.
struct GpuActionKernel {
  GpuKernelTask task;
  std::uint32_t blocks;
  unsigned char* sms_seen;  // by SM id: 1 if a block ran there
};

/// Copies bytes at most as fast as the time of its task; they arrive `latency` later.
struct GpuCopyKernel {
  GpuKernelTask task;
  std::uint64_t latency_ns;
  std::uint32_t blocks;
  std::uint32_t threads;  // per block
  const void* from;
  void* to;
  std::uint64_t bytes;
  std::uint64_t buffer_bytes;  // of `from` and of `to`, a power of two; reused cyclically
};

/// The calls to a GPU, replaceable in tests. Each returns 0 or a CUDA error number. The last six
/// are null when the driver has no green contexts.
struct GpuCalls {
  const char* (*error_name)(int error);
  int (*count_devices)(int* count);
  int (*start)();  // makes the first device ready
  int (*facts)(GpuFacts* facts);

  int (*make_stream)(GpuStream* stream);  // on all SMs
  int (*free_stream)(GpuStream stream);
  int (*synchronize)(GpuStream stream);
  int (*make_event)(GpuEvent* event);  // for streams on all SMs
  int (*free_event)(GpuEvent event);
  int (*record)(GpuEvent event, GpuStream stream);
  int (*wait)(GpuStream stream, GpuEvent event);

  int (*begin_capture)(GpuStream stream);
  int (*end_capture)(GpuStream stream, GpuGraph* graph);
  int (*free_graph)(GpuGraph graph);
  int (*instantiate)(GpuExecutable* executable, GpuGraph graph);
  int (*free_executable)(GpuExecutable executable);
  int (*upload)(GpuExecutable executable, GpuStream stream);
  int (*launch_graph)(GpuExecutable executable, GpuStream stream);

  int (*allocate)(void** memory, std::size_t bytes);
  int (*free_memory)(void* memory);
  int (*fill)(void* memory, int byte, std::size_t bytes, GpuStream stream);
  int (*write)(void* to, const void* from, std::size_t bytes);  // from host memory
  int (*read)(void* to, const void* from, std::size_t bytes);   // to host memory

  int (*launch_action)(GpuStream stream, const GpuActionKernel& kernel);
  int (*launch_copy)(GpuStream stream, const GpuCopyKernel& kernel);
  int (*launch_nothing)(GpuStream stream);
  int (*launch_clock_reader)(GpuStream stream, std::uint64_t* readings, std::uint32_t count);

  int (*all_sms)(SmGroup* all);
  /// Splits into `*count` groups of `sms` each plus a remainder; sets `*count` to the groups made.
  int (*split_sms)(SmGroup* groups, std::uint32_t* count, const SmGroup& all, SmGroup* left,
                   std::uint32_t sms);
  int (*make_context)(GpuContext* context, SmGroup group);
  int (*free_context)(GpuContext context);
  int (*make_stream_on)(GpuStream* stream, GpuContext context);
  /// An event is recorded only on streams of its own context; any stream may wait for it.
  int (*make_event_on)(GpuEvent* event, GpuContext context);
};

/// The CUDA calls; null in a build without CUDA.
const GpuCalls* cuda_calls();

/// Why a build has no CUDA; "" when it has.
const char* why_no_cuda();

}  // namespace penstock
