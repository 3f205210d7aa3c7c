#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock {

// What a GPU hands out.
using GpuStream = struct GpuStreamTag*;
using GpuEvent = struct GpuEventTag*;
using GpuGraph = struct GpuGraphTag*;
using GpuExecutable = struct GpuExecutableTag*;  // a graph that can be launched
using GpuContext = struct GpuContextTag*;        // a green context: owns some of the SMs

/// Gives back what a GPU handed out, once.
template <class Tag>
using GpuOwner = std::unique_ptr<Tag, int (*)(Tag*)>;

/// Streaming multiprocessors that belong together.
struct SmGroup {
  std::uint32_t sms = 0;
  std::uint32_t least = 0;                               // a part of it has at least so many
  std::uint32_t alignment = 0;                           // and a multiple of so many
  alignas(8) std::array<std::byte, 256> of_driver = {};  // how the driver knows it
};

struct GpuFacts {
  std::array<char, 256> name = {};
  int compute_major = 0;
  int compute_minor = 0;
  std::uint32_t sms = 0;
  std::uint32_t threads_per_sm = 0;
  std::uint32_t queues = 0;  // of the hardware; more streams than these wait for each other
  int driver = 0;            // the newest CUDA it knows; 13000 is 13.0
  int runtime = 0;           // what is built in, written alike
};

/// What each kernel knows of its task. All pointers are to memory of the GPU.
struct GpuKernelTask {
  std::uint64_t* begin_ns;      // by task: when it began; all bits set before
  std::uint64_t* end_ns;        // by task: when it was through, or had arrived; 0 before
  const std::uint32_t* inputs;  // it begins once the ends of these tasks have passed
  std::uint32_t input_count;
  std::uint32_t task;
  std::uint64_t duration_ns;
};

/// SM ids are below this.
constexpr std::uint32_t most_sm_ids = 1024;

/// Keeps SMs for the time of a task.
struct GpuActionKernel {
  GpuKernelTask task;
  std::uint32_t blocks;
  unsigned char* sms_seen;  // by SM id: 1 where a block ran
};

/// Copies bytes, not faster than the time of its task; they arrive a latency later.
struct GpuCopyKernel {
  GpuKernelTask task;
  std::uint64_t latency_ns;
  std::uint32_t blocks;
  std::uint32_t threads;  // of a block
  const void* from;
  void* to;
  std::uint64_t bytes;
  std::uint64_t buffer_bytes;  // of `from` and of `to`, a power of two; walked again and again
};

/// What is asked of a GPU, so that something else can stand in for one. Each returns 0, or an error
/// number of CUDA. The last six are null where a driver has no green contexts.
struct GpuCalls {
  const char* (*error_name)(int error);
  int (*count_devices)(int* count);
  int (*start)();  // makes the first device ready
  int (*facts)(GpuFacts* facts);

  int (*make_stream)(GpuStream* stream);  // on all SMs
  int (*free_stream)(GpuStream stream);
  int (*synchronize)(GpuStream stream);
  int (*make_event)(GpuEvent* event);  // of streams on all SMs
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
  int (*write)(void* to, const void* from, std::size_t bytes);  // from the host's memory
  int (*read)(void* to, const void* from, std::size_t bytes);   // into the host's memory

  int (*launch_action)(GpuStream stream, const GpuActionKernel& kernel);
  int (*launch_copy)(GpuStream stream, const GpuCopyKernel& kernel);
  int (*launch_nothing)(GpuStream stream);
  int (*launch_clock_reader)(GpuStream stream, std::uint64_t* readings, std::uint32_t count);

  int (*all_sms)(SmGroup* all);
  /// Into `*count` groups of `sms` each, and what is left; sets `*count` to how many there are.
  int (*split_sms)(SmGroup* groups, std::uint32_t* count, const SmGroup& all, SmGroup* left,
                   std::uint32_t sms);
  int (*make_context)(GpuContext* context, SmGroup group);
  int (*free_context)(GpuContext context);
  int (*make_stream_on)(GpuStream* stream, GpuContext context);
  /// An event is recorded on streams of its own context alone; any stream may wait for it.
  int (*make_event_on)(GpuEvent* event, GpuContext context);
};

/// Those of CUDA; null in a build without it.
const GpuCalls* cuda_calls();

/// Why a build is without CUDA; "" where it is not.
const char* why_no_cuda();

}  // namespace penstock
