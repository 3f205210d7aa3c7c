#pragma once

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// Fills in the calls of matrix products. The library, of half a gigabyte, is neither linked nor
/// copied: `why_no_products` looks for it at its first call, and refuses it when its major version
/// is not the one of this build.
void add_products(GpuCalls& calls);

/// Numbers of cuBLAS errors among those of CUDA begin here.
constexpr int first_product_error = 20'000;

/// The name of such a number; null for others.
const char* product_error_name(int error);

}  // namespace penstock
