#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// Fills in what has to do with green contexts, if the driver has all of it. These are functions of
/// the driver, which are asked for by name and version: a program linked to it would not even start
/// where there is none.
void add_green_contexts(GpuCalls& calls);

}  // namespace penstock
