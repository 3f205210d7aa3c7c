#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// A failed GPU call.
struct GpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "cudaErrorNoDevice (100)".
std::string error_text(const GpuCalls& calls, int error);

/// Throws GpuError unless a call returned 0: "launching task 3: cudaErrorLaunchFailure (719), at
/// validate/…/gpu_executor.cpp:31". Without a number, `doing` is the whole text.
void check(const GpuCalls& calls, int error, const char* doing,
           std::optional<std::uint32_t> number = std::nullopt, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

// Results release themselves. All throw GpuError.

GpuOwner<GpuStreamTag> make_stream(const GpuCalls& calls);
GpuOwner<GpuEventTag> make_event(const GpuCalls& calls);
/// An event with a time, for streams on all SMs.
GpuOwner<GpuEventTag> make_timer(const GpuCalls& calls);
GpuOwner<void> make_memory(const GpuCalls& calls, std::size_t bytes);
/// Host memory that the GPU's copy engines reach.
GpuOwner<void> make_pinned(const GpuCalls& calls, std::size_t bytes);

/// A green context and a stream on its SMs; release the stream first.
GpuOwner<GpuContextTag> make_context(const GpuCalls& calls, const std::vector<SmGroup>& groups);
GpuOwner<GpuStreamTag> make_stream_on(const GpuCalls& calls, GpuContext context);
/// An event for streams of a green context.
GpuOwner<GpuEventTag> make_event_on(const GpuCalls& calls, GpuContext context);

/// Makes a captured graph ready to launch.
GpuOwner<GpuExecutableTag> instantiate(const GpuCalls& calls, GpuGraph graph);

/// Captures what `work` issues to a stream, and to streams that wait for it, as a graph. When it
/// throws, the capture ends too, so the stream stays usable.
GpuOwner<GpuGraphTag> captured(const GpuCalls& calls, GpuStream stream,
                               const std::function<void()>& work);

}  // namespace penstock
