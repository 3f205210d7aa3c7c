#include "validate/backends/cuda/gpu_owners.hpp"

#include <algorithm>

#include "validate/backends/cuda/nccl_calls.hpp"

namespace penstock {
namespace {

/// A path relative to the repository root, wherever this was compiled.
std::string in_tree(const std::string& file) {
  const std::size_t at = file.rfind("validate/backends/");
  return at == std::string::npos ? file : file.substr(at);
}

}  // namespace

std::string error_text(const GpuCalls& calls, int error) {
  return std::string(calls.error_name(error)) + " (" + std::to_string(error) + ")";
}

void check(const GpuCalls& calls, int error, const char* doing, std::optional<std::uint32_t> number,
           const char* file, int line) {
  if (error == 0) return;
  std::string text = doing;
  if (number) text += " " + std::to_string(*number);
  throw GpuError(text + ": " + error_text(calls, error) + ", at " + in_tree(file) + ":" +
                 std::to_string(line));
}

std::string error_text(const NcclCalls& calls, int error, NcclComm comm) {
  const char* const last = calls.get_last_error(comm);
  std::string text =
      std::string(calls.get_error_string(error)) + " (" + std::to_string(error) + ")";
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  return text;
}

void check(const NcclCalls& calls, int error, const char* doing, NcclComm comm) {
  if (error == 0 || error == nccl_in_progress) return;
  throw NcclError(std::string(doing) + ": " + error_text(calls, error, comm));
}

GpuOwner<GpuStreamTag> make_stream(const GpuCalls& calls) {
  GpuStream stream = nullptr;
  check(calls, calls.make_stream(&stream), "making a stream");
  return {stream, calls.free_stream};
}

GpuOwner<GpuEventTag> make_event(const GpuCalls& calls) {
  GpuEvent event = nullptr;
  check(calls, calls.make_event(&event), "making an event");
  return {event, calls.free_event};
}

GpuOwner<GpuEventTag> make_timer(const GpuCalls& calls) {
  GpuEvent event = nullptr;
  check(calls, calls.make_timer(&event), "making an event with a time");
  return {event, calls.free_event};
}

GpuOwner<void> make_memory(const GpuCalls& calls, std::size_t bytes) {
  void* memory = nullptr;
  const auto kibibytes = static_cast<std::uint32_t>(bytes / 1024);
  check(calls, calls.allocate(&memory, std::max<std::size_t>(bytes, 1)), "allocating, in KiB,",
        kibibytes);
  return {memory, calls.free_memory};
}

GpuOwner<void> make_pinned(const GpuCalls& calls, std::size_t bytes) {
  void* memory = nullptr;
  const auto kibibytes = static_cast<std::uint32_t>(bytes / 1024);
  check(calls, calls.allocate_pinned(&memory, bytes), "allocating pinned memory, in KiB,",
        kibibytes);
  return {memory, calls.free_pinned};
}

GpuOwner<GpuContextTag> make_context(const GpuCalls& calls, const std::vector<SmGroup>& groups) {
  GpuContext context = nullptr;
  std::uint32_t sms = 0;
  for (const SmGroup& group : groups) sms += group.sms;
  const auto count = static_cast<std::uint32_t>(groups.size());
  check(calls, calls.make_context(&context, groups.data(), count),
        "making a green context, its SMs:", sms);
  return {context, calls.free_context};
}

GpuOwner<GpuStreamTag> make_stream_on(const GpuCalls& calls, GpuContext context) {
  GpuStream stream = nullptr;
  check(calls, calls.make_stream_on(&stream, context), "making a stream of a green context");
  return {stream, calls.free_stream};
}

GpuOwner<GpuEventTag> make_event_on(const GpuCalls& calls, GpuContext context) {
  GpuEvent event = nullptr;
  check(calls, calls.make_event_on(&event, context), "making an event of a green context");
  return {event, calls.free_event};
}

GpuOwner<GpuExecutableTag> instantiate(const GpuCalls& calls, GpuGraph graph) {
  GpuExecutable executable = nullptr;
  check(calls, calls.instantiate(&executable, graph), "making a graph that can be launched");
  return {executable, calls.free_executable};
}

GpuOwner<GpuGraphTag> captured(const GpuCalls& calls, GpuStream stream,
                               const std::function<void()>& work) {
  GpuGraph graph = nullptr;
  check(calls, calls.begin_capture(stream), "beginning the capture of a stream");
  try {
    work();
  } catch (...) {
    if (calls.end_capture(stream, &graph) == 0) calls.free_graph(graph);
    throw;
  }
  check(calls, calls.end_capture(stream, &graph), "ending the capture of a stream");
  return {graph, calls.free_graph};
}

}  // namespace penstock
