#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "validate/backends/cuda/cuda_kernels.hpp"
#include "validate/backends/cuda/gpu_device.hpp"

namespace penstock {
namespace {

constexpr int device = 0;
constexpr const char* queues_setting = "CUDA_DEVICE_MAX_CONNECTIONS";

cudaEvent_t native(GpuEvent event) { return reinterpret_cast<cudaEvent_t>(event); }
cudaGraph_t native(GpuGraph graph) { return reinterpret_cast<cudaGraph_t>(graph); }
cudaGraphExec_t native(GpuExecutable executable) {
  return reinterpret_cast<cudaGraphExec_t>(executable);
}

/// Clears the error, so that the next call does not report it again.
int told(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

const char* error_name(int error) {
  if (const char* const name = product_error_name(error)) return name;
  return cudaGetErrorName(static_cast<cudaError_t>(error));
}

/// The primary context must exist before green contexts.
int start() {
  if (const int error = told(cudaSetDevice(device))) return error;
  if (const int error = told(cudaFree(nullptr))) return error;
  for (const int error : {load_kernels(), load_codec_kernels(), load_step_kernels(),
                         load_attention_kernels()}) {
    if (error != cudaSuccess) return told(static_cast<cudaError_t>(error));
  }
  return cudaSuccess;
}

int cuda_versions(int* driver, int* runtime) {
  if (const int error = told(cudaDriverGetVersion(driver))) return error;
  return told(cudaRuntimeGetVersion(runtime));
}

int facts(GpuFacts* all) {
  cudaDeviceProp properties{};
  if (const int error = told(cudaGetDeviceProperties(&properties, device))) return error;
  std::copy_n(properties.name, std::min(std::strlen(properties.name), all->name.size() - 1),
              all->name.begin());
  all->compute_major = properties.major;
  all->compute_minor = properties.minor;
  all->sms = static_cast<std::uint32_t>(properties.multiProcessorCount);
  all->threads_per_sm = static_cast<std::uint32_t>(properties.maxThreadsPerMultiProcessor);
  all->queues = hardware_queues(std::getenv(queues_setting));
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  if (const int error = told(cudaMemGetInfo(&free_bytes, &all_bytes))) return error;
  all->free_bytes = free_bytes;
  return cuda_versions(&all->driver, &all->runtime);
}

/// A copy from pageable memory may return before the GPU has it all, and other streams do not wait
/// for the stream of such copies.
int write(void* to, const void* from, std::size_t bytes) {
  if (const int error = told(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice))) return error;
  return told(cudaStreamSynchronize(cudaStreamLegacy));
}
void add_streams(GpuCalls& calls) {
  calls.make_stream = [](GpuStream* stream) {
    return told(
        cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking));
  };
  calls.free_stream = [](GpuStream stream) { return told(cudaStreamDestroy(native(stream))); };
  calls.synchronize = [](GpuStream stream) { return told(cudaStreamSynchronize(native(stream))); };
  calls.make_event = [](GpuEvent* event) {
    return told(
        cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming));
  };
  calls.free_event = [](GpuEvent event) { return told(cudaEventDestroy(native(event))); };
  calls.record = [](GpuEvent event, GpuStream stream) {
    return told(cudaEventRecord(native(event), native(stream)));
  };
  calls.wait = [](GpuStream stream, GpuEvent event) {
    return told(cudaStreamWaitEvent(native(stream), native(event), 0));
  };
  calls.make_timer = [](GpuEvent* event) {
    return told(cudaEventCreate(reinterpret_cast<cudaEvent_t*>(event)));
  };
  calls.elapsed = [](float* ms, GpuEvent begin, GpuEvent end) {
    return told(cudaEventElapsedTime(ms, native(begin), native(end)));
  };
}

void add_graphs(GpuCalls& calls) {
  calls.begin_capture = [](GpuStream stream) {
    return told(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal));
  };
  calls.end_capture = [](GpuStream stream, GpuGraph* graph) {
    return told(cudaStreamEndCapture(native(stream), reinterpret_cast<cudaGraph_t*>(graph)));
  };
  calls.free_graph = [](GpuGraph graph) { return told(cudaGraphDestroy(native(graph))); };
  calls.instantiate = [](GpuExecutable* executable, GpuGraph graph) {
    return told(
        cudaGraphInstantiate(reinterpret_cast<cudaGraphExec_t*>(executable), native(graph)));
  };
  calls.free_executable = [](GpuExecutable executable) {
    return told(cudaGraphExecDestroy(native(executable)));
  };
  calls.upload = [](GpuExecutable executable, GpuStream stream) {
    return told(cudaGraphUpload(native(executable), native(stream)));
  };
  calls.launch_graph = [](GpuExecutable executable, GpuStream stream) {
    return told(cudaGraphLaunch(native(executable), native(stream)));
  };
}

void add_memory(GpuCalls& calls) {
  calls.allocate = [](void** memory, std::size_t bytes) { return told(cudaMalloc(memory, bytes)); };
  calls.free_memory = [](void* memory) { return told(cudaFree(memory)); };
  calls.fill = [](void* memory, int byte, std::size_t bytes, GpuStream stream) {
    return told(cudaMemsetAsync(memory, byte, bytes, native(stream)));
  };
  calls.write = write;
  calls.read = [](void* to, const void* from, std::size_t bytes) {
    return told(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  };
  calls.allocate_pinned = [](void** memory, std::size_t bytes) {
    return told(cudaMallocHost(memory, bytes));
  };
  calls.free_pinned = [](void* memory) { return told(cudaFreeHost(memory)); };
  calls.copy_out = [](void* pinned, const void* from, std::size_t bytes, GpuStream stream) {
    return told(cudaMemcpyAsync(pinned, from, bytes, cudaMemcpyDeviceToHost, native(stream)));
  };
  calls.copy_in = [](void* to, const void* pinned, std::size_t bytes, GpuStream stream) {
    return told(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, native(stream)));
  };
  calls.copy_within = [](void* to, const void* from, std::size_t bytes, GpuStream stream) {
    return told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, native(stream)));
  };
}

GpuCalls made_calls() {
  // Only effective before the first call. A user's setting is kept, and `facts` reports it.
  setenv(queues_setting, std::to_string(most_hardware_queues).c_str(), 0);
  GpuCalls calls{};
  calls.error_name = error_name;
  calls.count_devices = [](int* count) { return told(cudaGetDeviceCount(count)); };
  calls.cuda_versions = cuda_versions;
  calls.start = start;
  calls.facts = facts;
  add_streams(calls);
  add_graphs(calls);
  add_memory(calls);
  calls.launch_action = launch_action;
  calls.launch_copy = launch_copy;
  calls.launch_begin = launch_begin;
  calls.launch_end = launch_end;
  calls.launch_content = launch_content;
  calls.launch_codec = launch_codec;
  calls.launch_step = launch_step;
  calls.launch_nothing = launch_nothing;
  calls.launch_clock_reader = launch_clock_reader;
  calls.launch_cycle_counter = launch_cycle_counter;
  add_products(calls);
  add_green_contexts(calls);
  return calls;
}

}  // namespace

const GpuCalls* cuda_calls() {
  static const GpuCalls calls = made_calls();
  return &calls;
}

const char* why_no_cuda() { return ""; }

}  // namespace penstock
