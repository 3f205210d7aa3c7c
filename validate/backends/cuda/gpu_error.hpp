#pragma once

#include <optional>
#include <stdexcept>
#include <string>

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

}  // namespace penstock
