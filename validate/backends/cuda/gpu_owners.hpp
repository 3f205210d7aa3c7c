#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

// What they return gives itself back. All throw GpuError.

GpuOwner<GpuStreamTag> make_stream(const GpuCalls& calls);
GpuOwner<GpuEventTag> make_event(const GpuCalls& calls);
GpuOwner<void> make_memory(const GpuCalls& calls, std::size_t bytes);

/// A green context, and a stream on its SMs, which must be given back before it.
GpuOwner<GpuContextTag> make_context(const GpuCalls& calls, const SmGroup& group);
GpuOwner<GpuStreamTag> make_stream_on(const GpuCalls& calls, GpuContext context);

/// What a stream that was captured becomes.
GpuOwner<GpuExecutableTag> instantiate(const GpuCalls& calls, GpuGraph graph);

/// Ends the capture of a stream.
GpuOwner<GpuGraphTag> end_capture(const GpuCalls& calls, GpuStream stream);

}  // namespace penstock
