#pragma once

#include <functional>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

// What they return gives itself back. All throw GpuError.

GpuOwner<GpuStreamTag> make_stream(const GpuCalls& calls);
GpuOwner<GpuEventTag> make_event(const GpuCalls& calls);
GpuOwner<void> make_memory(const GpuCalls& calls, std::size_t bytes);

/// A green context, and a stream on its SMs, which must be given back before it.
GpuOwner<GpuContextTag> make_context(const GpuCalls& calls, const SmGroup& group);
GpuOwner<GpuStreamTag> make_stream_on(const GpuCalls& calls, GpuContext context);
/// An event to record on streams of a green context.
GpuOwner<GpuEventTag> make_event_on(const GpuCalls& calls, GpuContext context);

/// What a stream that was captured becomes.
GpuOwner<GpuExecutableTag> instantiate(const GpuCalls& calls, GpuGraph graph);

/// What `work` gives to a stream, and to those that wait for it, as a graph instead. When it
/// throws, the capture is over too, so that the stream can be used again.
GpuOwner<GpuGraphTag> captured(const GpuCalls& calls, GpuStream stream,
                               const std::function<void()>& work);

}  // namespace penstock
