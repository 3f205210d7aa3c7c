// Replaces the .cu files in a build without CUDA.
#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

const GpuCalls* cuda_calls() { return nullptr; }

const char* why_no_cuda() { return PENSTOCK_WHY_NO_CUDA; }

}  // namespace penstock
