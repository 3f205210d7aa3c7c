#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// Fills in the green-context calls if the driver has all of them. They are looked up by name and
/// version: a program linked to the driver would not start on a machine without one.
void add_green_contexts(GpuCalls& calls);

}  // namespace penstock
