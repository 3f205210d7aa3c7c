#pragma once

#include <stdexcept>
#include <string_view>

#include "validate/backends/nccl/nccl_calls.hpp"

namespace penstock {

/// A failed NCCL call.
struct NcclError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws NcclError unless a call returned 0, or is still in progress: "splitting a communicator:
/// unhandled cuda error (1): …". `comm` may be null.
void check(const NcclCalls& calls, int error, std::string_view doing, NcclComm comm);

}  // namespace penstock
